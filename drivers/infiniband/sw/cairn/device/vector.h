/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_DEVICE_VECTOR_H
#define CAIRN_DEVICE_VECTOR_H

/* Events of a vector (lane/lane.c, net/rx.c), at most. */
#define CAIRN_VECTOR	8

#endif
