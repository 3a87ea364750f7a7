/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Trains that leave together, see net/plug.c. Below cairn_cpu_lock(). */
#ifndef CAIRN_NET_PLUG_H
#define CAIRN_NET_PLUG_H

#include "net/frame.h"

struct cairn_open;

/* Find or begin the open train for @train, measured by @frame. NULL: the train
 * is sent alone. Then all trains before it in its flow have been sent.
 */
struct cairn_open *cairn_plug_join(struct cairn_nic *nic,
				   struct cairn_path *path,
				   const struct cairn_train *train,
				   struct cairn_frame *frame);

/* Add packets to an open train. If one fails, the open train is unchanged.
 * Return: as cairn_frame_fill().
 */
u32 cairn_plug_fill(struct cairn_open *open, const struct cairn_packets *packets,
		    const struct cairn_frame *frame);

/* Module start (0 or -ENOMEM) and stop. Process context. */
int cairn_plug_start(void);
void cairn_plug_stop(void);

#endif
