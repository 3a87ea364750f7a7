// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A plugin of QEMU that counts the instructions of a guest by their address.
 *
 *   -plugin count.so,dir=DIRECTORY
 *
 * Counts what runs from the moment that DIRECTORY/begin exists until DIRECTORY/end does,
 * and writes DIRECTORY/counts: a line "address runs instructions" for each translated block
 * that ran, the address in hex, with the instructions of one run. Debian has no package
 * with qemu-plugin.h, so what is used of it is declared here (docs/devel/tcg-plugins.rst
 * of QEMU; version 1 of the interface, of QEMU 4.2 and later).
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct qemu_plugin_tb;
int qemu_plugin_version = 1;
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
	void (*translated)(uint64_t id, struct qemu_plugin_tb *block));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int op,
					      void *counter, uint64_t value);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);

#define ADD	0		/* the one operation that needs no call */
#define BLOCKS	(1u << 22)

/* of each block: its address, its instructions, and how often it has run */
static uint64_t addresses[BLOCKS], sizes[BLOCKS], counters[BLOCKS], before[BLOCKS];
static uint32_t used;
static char *dir;

static void count_translated(uint64_t id, struct qemu_plugin_tb *block)
{
	uint32_t i = __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);

	(void)id;
	if (i >= BLOCKS) {
		fprintf(stderr, "count: more than %u blocks\n", BLOCKS);
		abort();
	}
	addresses[i] = qemu_plugin_tb_vaddr(block);
	sizes[i] = qemu_plugin_tb_n_insns(block);
	qemu_plugin_register_vcpu_tb_exec_inline(block, ADD, &counters[i], 1);
}

static void count_await(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	while (access(path, F_OK))
		usleep(1000);
}

static void *count_watch(void *unused)
{
	char part[4096], path[4096];
	uint32_t i, n;
	FILE *out;

	count_await("begin");
	memcpy(before, counters, sizeof(before));
	count_await("end");
	n = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
	snprintf(part, sizeof(part), "%s/counts.part", dir);
	snprintf(path, sizeof(path), "%s/counts", dir);
	out = fopen(part, "w");
	if (!out)
		abort();
	for (i = 0; i < n; i++)
		if (counters[i] != before[i])
			fprintf(out, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", addresses[i],
				counters[i] - before[i], sizes[i]);
	if (fclose(out) || rename(part, path))
		abort();
	return unused;
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	pthread_t watch;

	(void)info;
	if (argc != 1 || strncmp(argv[0], "dir=", 4)) {
		fprintf(stderr, "count: dir= is missing\n");
		return -1;
	}
	dir = strdup(argv[0] + 4);
	if (!dir || pthread_create(&watch, NULL, count_watch, NULL))
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, count_translated);
	return 0;
}
