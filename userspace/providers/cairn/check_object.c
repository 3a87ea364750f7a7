// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>

#include "check_object.h"
#include "check_report.h"

#define OBJECT_BUCKETS	1024

struct cairn_object {
	struct cairn_object *next;
	const struct ibv_context *ctx;
	const void *address;
	const char *kind;
	struct cairn_trace made;
};

static struct cairn_object *objects[OBJECT_BUCKETS];

static struct cairn_object **object_bucket(const void *address)
{
	return &objects[((uintptr_t)address >> 5) % OBJECT_BUCKETS];
}

void cairn_object_open(const struct ibv_context *ctx, const char *kind,
		       const void *address)
{
	struct cairn_object *object = calloc(1, sizeof(*object));

	if (!object)
		return;
	*object = (struct cairn_object){
		.next = *object_bucket(address), .ctx = ctx,
		.address = address, .kind = kind,
	};
	cairn_trace_take(&object->made);
	*object_bucket(address) = object;
}

struct cairn_object *cairn_object_take(const void *address)
{
	struct cairn_object **link = object_bucket(address), *object;

	while (*link && (*link)->address != address)
		link = &(*link)->next;
	object = *link;
	if (object)
		*link = object->next;
	return object;
}

void cairn_object_return(struct cairn_object *object, bool ended)
{
	if (!object)
		return;
	if (ended) {
		free(object);
		return;
	}
	object->next = *object_bucket(object->address);
	*object_bucket(object->address) = object;
}

bool cairn_object_known(const void *address)
{
	const struct cairn_object *object = *object_bucket(address);

	while (object && object->address != address)
		object = object->next;
	return object;
}

static void object_report(const struct cairn_object *object, const char *when)
{
	struct cairn_report report = {
		.first = &object->made, .first_title = "created at:",
	};

	cairn_report_write(CAIRN_REPORT_LEAK, &report, "a %s is left %s",
			   object->kind, when);
}

void cairn_object_leaks(const struct ibv_context *ctx)
{
	const char *when = ctx ? "when its device is closed" :
				 "when the process ends";

	for (size_t i = 0; i < OBJECT_BUCKETS; i++) {
		struct cairn_object **link = &objects[i];

		while (*link) {
			struct cairn_object *object = *link;

			if (ctx && object->ctx != ctx) {
				link = &object->next;
				continue;
			}
			object_report(object, when);
			*link = object->next;
			free(object);
		}
	}
}
