// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* 24-bit sequence arithmetic, round the wrap. */
#include <linux/kernel.h>
#include "wire/psn.h"
#include "ktap.h"

static void add_wraps(void)
{
	ktap_eq(cairn_psn_add(0, 0), 0);
	ktap_eq(cairn_psn_add(0xffffff, 1), 0);
	ktap_eq(cairn_psn_add(0xfffff0, 0x20), 0x10);
	ktap_eq(cairn_psn_add(5, (u32)-6), 0xffffff);
	ktap_eq(cairn_psn_add(1, 0x1000000), 1);
}

static void diff_is_signed(void)
{
	ktap_eq(cairn_psn_diff(7, 7), 0);
	ktap_eq(cairn_psn_diff(8, 7), 1);
	ktap_eq(cairn_psn_diff(7, 8), -1);
	ktap_eq(cairn_psn_diff(0, 0xffffff), 1);
	ktap_eq(cairn_psn_diff(0xffffff, 0), -1);
	ktap_eq(cairn_psn_diff(0x7fffff, 0), 0x7fffff);
	ktap_eq(cairn_psn_diff(0x800001, 0), -0x7fffff);
}

static void diff_undoes_add(void)
{
	int i;

	for (i = 0; i < 100000; i++) {
		u32 psn = ktap_rand_below(1 << 24);
		s32 n = (s32)ktap_rand_below((1 << 24) - 1) - ((1 << 23) - 1);

		if (!ktap_eq(cairn_psn_diff(cairn_psn_add(psn, n), psn), n))
			return;
	}
}

static const struct ktap_test tests[] = {
	KTAP(add_wraps),
	KTAP(diff_is_signed),
	KTAP(diff_undoes_add),
};

KTAP_MAIN(tests)
