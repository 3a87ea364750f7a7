/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_NET_TX_H
#define CAIRN_NET_TX_H

/* Module start, 0 or -ENOMEM, and stop. Process context. */
int cairn_net_tx_start(void);
void cairn_net_tx_stop(void);

#endif
