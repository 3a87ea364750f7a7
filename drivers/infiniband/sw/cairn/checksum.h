/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_CHECKSUM_H
#define CAIRN_CHECKSUM_H

/* Choose the fastest ICRC implementation by a short calibration, as the raid6
 * code does. Process context, at module load.
 */
void cairn_checksum_init(void);
void cairn_checksum_exit(void);

#endif
