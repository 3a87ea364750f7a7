// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Functions of cairn_persist that need no device, with a program "rdma" of the test. */
int persist_main(int argc, char **argv);
#define main persist_main
#include "../tools/cairn_persist.c"
#undef main

#include "ktap.h"

static char dir[] = "/tmp/persist-tool.XXXXXX";

static void begin(void)
{
	static const char text[] = "#!/bin/sh\necho \"$#:$*\" >asked\necho '\"tx_packets\":42'\n";
	FILE *file;

	ktap_ok(mkdtemp(dir) && !chdir(dir));
	file = fopen("rdma", "w");
	ktap_ok(file && fputs(text, file) >= 0 && !fclose(file) && !chmod("rdma", 0755));
	ktap_ok(!setenv("PATH", ".:/usr/bin:/bin", 1));
}

/* A container chooses the name of its device. */
static void counts_packets_of_any_device(void)
{
	static const char * const names[] = {
		"cairn0", "c;touch evil", "c$(touch evil)", "c`touch evil`", "c\"'", "c d",
	};
	char asked[128], want[128];
	FILE *file;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		opts.device = names[i];
		ktap_eq(persist_packets(), 42);
		ktap_ok(access("evil", F_OK));
		file = fopen("asked", "r");
		ktap_ok(file && fgets(asked, sizeof(asked), file));
		if (file)
			fclose(file);
		snprintf(want, sizeof(want), "5:-j statistic show link %s/1\n", names[i]);
		ktap_ok(!strcmp(asked, want));
		remove("asked");
	}
}

static void cleanup(void)
{
	remove("evil");
	ktap_ok(!remove("rdma") && !chdir("/") && !rmdir(dir));
}

static const struct ktap_test tests[] = {
	KTAP(begin),
	KTAP(counts_packets_of_any_device),
	KTAP(cleanup),
};

KTAP_MAIN(tests)
