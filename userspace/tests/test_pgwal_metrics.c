// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The file for Prometheus, in a directory where another user may put links. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ktap.h"
#include "log_command.h"
#include "pgwal_metrics.h"

static struct pgwal_metrics metrics;
static int failed;

int log_command_fail(const char *what, int err)
{
	(void)what;
	failed = err;
	return err;
}

static void in_a_directory(void)
{
	char name[] = "/tmp/pgwal_metrics.XXXXXX";

	ktap_ok(mkdtemp(name) && !chdir(name));
	metrics = (struct pgwal_metrics){ .file = "m.prom", .records = 41 };
	failed = 0;
}

static void remove_directory(void)
{
	char name[4096];

	unlink("m.prom");
	unlink("victim");
	ktap_ok(getcwd(name, sizeof(name)) && !chdir("/") && !rmdir(name));
}

/* Is the line in the file? */
static bool has(const char *name, const char *line)
{
	char text[200];
	bool found = false;
	FILE *file = fopen(name, "r");

	while (file && fgets(text, sizeof(text), file))
		found |= !strcmp(text, line);
	if (file)
		fclose(file);
	return found;
}

static void is_replaced(void)
{
	struct stat st;

	in_a_directory();
	for (int i = 0; i < 2; i++) {
		metrics.records++;
		pgwal_metrics_write(&metrics, 0);
	}
	ktap_ok(has("m.prom", "cairn_pgwal_records_total 43\n"));
	ktap_ok(!stat("m.prom", &st) && !(st.st_mode & (S_IWGRP | S_IWOTH)));
	ktap_eq(access("m.prom.new", F_OK), -1);
	ktap_eq(failed, 0);
	remove_directory();
}

static void follows_no_link(void)
{
	FILE *victim;
	struct stat st;

	in_a_directory();
	victim = fopen("victim", "w");
	ktap_ok(victim && fputs("mine\n", victim) >= 0 && !fclose(victim));
	ktap_ok(!symlink("victim", "m.prom.new"));
	pgwal_metrics_write(&metrics, 0);
	ktap_ok(has("victim", "mine\n"));
	ktap_ok(has("m.prom", "cairn_pgwal_records_total 41\n"));
	ktap_ok(!lstat("m.prom", &st) && S_ISREG(st.st_mode));
	remove_directory();
}

static void tells_once(void)
{
	in_a_directory();
	metrics.file = "none/m.prom";
	pgwal_metrics_write(&metrics, 0);
	ktap_eq(failed, ENOENT);
	ktap_ok(!metrics.file);
	remove_directory();
}

static const struct ktap_test tests[] = {
	KTAP(is_replaced),
	KTAP(follows_no_link),
	KTAP(tells_once),
};

KTAP_MAIN(tests)
