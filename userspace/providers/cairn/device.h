/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Attributes of a device and its port. */
#ifndef CAIRN_DEVICE_H
#define CAIRN_DEVICE_H

#include "cairn.h"

int cairn_query_device_ex(struct ibv_context *ctx,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t size);
int cairn_query_port(struct ibv_context *ctx, uint8_t port_num,
		     struct ibv_port_attr *attr);
int cairn_query_rt_values(struct ibv_context *ctx,
			  struct ibv_values_ex *values);

#endif /* CAIRN_DEVICE_H */
