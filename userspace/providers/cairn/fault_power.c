// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cqe.h"
#include "fault_power.h"

/* A region and what of it is durable. */
struct power_region {
	struct power_region *next;
	const struct ibv_mr *mr;
	const struct ibv_context *ctx;
	uint8_t *addr;
	uint8_t *durable;	/* a copy */
	uint64_t iova;
	size_t length;
};

/* A message that the program has seen and not answered. */
struct power_message {
	struct power_message *next;
	const struct ibv_context *ctx;
	uint64_t token;
	uint64_t iova;
	uint32_t length;
};

static pthread_mutex_t power_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct power_region *power_regions;
static struct power_message *power_messages;

void cairn_power_open(const struct ibv_mr *mr, uint8_t *addr, size_t length, uint64_t iova)
{
	struct power_region *region = calloc(1, sizeof(*region));
	uint8_t *copy = malloc(length ? length : 1);

	if (!region || !copy) {
		free(region);
		free(copy);
		return;
	}
	memcpy(copy, addr, length);
	pthread_mutex_lock(&power_mutex);
	*region = (struct power_region){
		.next = power_regions, .mr = mr, .ctx = mr->context, .addr = addr,
		.durable = copy, .iova = iova, .length = length,
	};
	power_regions = region;
	pthread_mutex_unlock(&power_mutex);
}

void cairn_power_close(const struct ibv_mr *mr)
{
	struct power_region **link = &power_regions, *region;

	pthread_mutex_lock(&power_mutex);
	while (*link && (*link)->mr != mr)
		link = &(*link)->next;
	region = *link;
	if (region)
		*link = region->next;
	pthread_mutex_unlock(&power_mutex);
	if (region)
		free(region->durable);
	free(region);
}

void cairn_power_arrived(struct ibv_context *ctx, const struct cairn_cqe *cqe)
{
	struct power_message *message;

	if (cqe->opcode != CAIRN_CQE_RECV_PERSIST)
		return;
	message = calloc(1, sizeof(*message));
	if (!message)
		return;
	pthread_mutex_lock(&power_mutex);
	*message = (struct power_message){
		.next = power_messages, .ctx = ctx, .token = cqe->persist_token,
		.iova = cqe->persist_va, .length = cqe->byte_len,
	};
	power_messages = message;
	pthread_mutex_unlock(&power_mutex);
}

static struct power_message *power_take(const struct ibv_context *ctx, uint64_t token)
{
	struct power_message **link = &power_messages, *message;

	while (*link && ((*link)->token != token || (*link)->ctx != ctx))
		link = &(*link)->next;
	message = *link;
	if (message)
		*link = message->next;
	return message;
}

/* In each region that has the range: memory may be registered more than once. */
static void power_keep(const struct power_message *message)
{
	for (struct power_region *region = power_regions; region; region = region->next) {
		uint64_t offset = message->iova - region->iova;

		if (region->ctx == message->ctx && offset <= region->length &&
		    message->length <= region->length - offset)
			memcpy(region->durable + offset, region->addr + offset, message->length);
	}
}

void cairn_power_answered(struct ibv_context *ctx, uint64_t token, bool durable)
{
	struct power_message *message;

	pthread_mutex_lock(&power_mutex);
	message = power_take(ctx, token);
	if (message && durable)
		power_keep(message);
	pthread_mutex_unlock(&power_mutex);
	free(message);
}

void cairn_power_cut(void)
{
	pthread_mutex_lock(&power_mutex);
	for (struct power_region *region = power_regions; region; region = region->next)
		memcpy(region->addr, region->durable, region->length);
	while (power_messages) {
		struct power_message *message = power_messages;

		power_messages = message->next;
		free(message);
	}
	pthread_mutex_unlock(&power_mutex);
}
