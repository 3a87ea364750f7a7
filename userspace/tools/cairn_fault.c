// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Change and show the fault rules of a device: see cairn_fault(8). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/cairndv.h>
#include "wants_help.h"

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	unsigned int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			break;
	if (!list || !list[i])
		fprintf(stderr, "cairn_fault: there is no device %s\n", name);
	else if (!cairndv_is_supported(list[i]))
		fprintf(stderr, "cairn_fault: %s is no cairn device\n", name);
	else if (!(ctx = ibv_open_device(list[i])))
		fprintf(stderr, "cairn_fault: cannot open %s: %s\n", name, strerror(errno));
	if (list)
		ibv_free_device_list(list);
	return ctx;
}

static int show(const char *what, int err)
{
	if (!err)
		return 0;
	fprintf(stderr, "cairn_fault: %s: %s\n", what, strerror(err));
	return 1;
}

/* Rules before the one that fails stay. */
static int fault_add(struct ibv_context *ctx, char **rules)
{
	int failed = 0;

	for (; *rules && !failed; rules++)
		failed = show(*rules, cairndv_fault_add(ctx, *rules));
	return failed;
}

static int fault_list(struct ibv_context *ctx)
{
	struct cairndv_fault faults[CAIRNDV_FAULT_RULES];
	unsigned int i, num = CAIRNDV_FAULT_RULES;

	if (show("list", cairndv_fault_list(ctx, faults, &num)))
		return 1;
	for (i = 0; i < num; i++)
		printf("%s hits=%" PRIu64 " seen=%" PRIu64 "\n", faults[i].rule,
		       faults[i].hits, faults[i].seen);
	return show("output", fflush(stdout) || ferror(stdout) ? EIO : 0);
}

static int fault_usage(FILE *to)
{
	fprintf(to, "usage: cairn_fault DEVICE add RULE... | list | clear\n");
	return to == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	struct ibv_context *ctx;
	int failed;

	if (wants_help(argc, argv))
		return fault_usage(stdout);
	if (argc < 3 || argv[1][0] == '-' ||
	    !(!strcmp(argv[2], "add") ? argc > 3 :
	      argc == 3 && (!strcmp(argv[2], "list") || !strcmp(argv[2], "clear"))))
		return fault_usage(stderr);
	ctx = open_device(argv[1]);
	if (!ctx)
		return 1;
	if (argv[2][0] == 'a')
		failed = fault_add(ctx, argv + 3);
	else if (argv[2][0] == 'l')
		failed = fault_list(ctx);
	else
		failed = show("clear", cairndv_fault_clear(ctx));
	ibv_close_device(ctx);
	return failed;
}
