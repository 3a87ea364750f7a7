/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_PERSIST_STREAM_H
#define CAIRN_PERSIST_STREAM_H

/* Set cairn_flush_stream_min where non-temporal stores are faster than stores and
 * write-back. Module start, process context.
 */
void cairn_stream_init(void);

#endif
