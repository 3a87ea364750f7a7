/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A power cut for one process: its regions with host flush keep only what the program has
 * reported as durable. Each has a copy, which gets a range when that is reported.
 */
#ifndef CAIRN_FAULT_POWER_H
#define CAIRN_FAULT_POWER_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct cairn_cqe;

/* A region of @mr is registered. Contents of then are durable. Without memory it has no copy. */
void cairn_power_open(const struct ibv_mr *mr, uint8_t *addr, size_t length, uint64_t iova);
/* Before the region ends. */
void cairn_power_close(const struct ibv_mr *mr);
/* The program sees a range that it is to make durable. */
void cairn_power_arrived(struct ibv_context *ctx, const struct cairn_cqe *cqe);
/* It reports the range of @token; @durable: with success. */
void cairn_power_answered(struct ibv_context *ctx, uint64_t token, bool durable);
/* All regions are as they were reported. */
void cairn_power_cut(void);

#endif /* CAIRN_FAULT_POWER_H */
