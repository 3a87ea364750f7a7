// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* RC on a good network: every operation, every size that could be special. */
#include "engine.h"

static const u16 pmtus[] = { 256, 512, 1024, 2048, 4096 };

static const u8 ops[] = {
	CAIRN_WQE_SEND, CAIRN_WQE_SEND_IMM, CAIRN_WQE_SEND_INV,
	CAIRN_WQE_WRITE, CAIRN_WQE_WRITE_IMM, CAIRN_WQE_READ,
};

static void add_sizes(struct flow *f, u8 op, u32 pmtu)
{
	const u32 sizes[] = {
		0, 1, 3, 4, pmtu - 1, pmtu, pmtu + 1, 2 * pmtu - 1, 2 * pmtu,
		2 * pmtu + 1, 7 * pmtu, 64 * pmtu, 64 * pmtu + 5, 65 * pmtu,
		66 * pmtu + 1,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		flow_add(f, op, sizes[i])->flags |= CAIRN_WQE_SIGNALED;
}

static void every_size(u8 op)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pmtus) && !ktap.failures; i++) {
		struct sim *s = sim_new(pmtus[i] + op);
		struct sim_qp *a = sim_qp(s, 0, &sim_rc);
		struct sim_qp *b = sim_qp(s, 1, &sim_rc);
		struct cairn_qp_attrs attrs = sim_attrs;
		struct flow_cfg cfg = flow_default;
		struct flow *f;

		attrs.pmtu = pmtus[i];
		sim_connect(a, b, &attrs);
		cfg.max_len = 70 * pmtus[i];
		cfg.area = 2 * cfg.max_len;
		f = flow_new(a, b, &cfg);
		add_sizes(f, op, pmtus[i]);
		flow_run(&f, 1);
		ktap_eq(s->count[CAIRN_CTR_RETRANSMITS], 0);
		ktap_eq(s->count[CAIRN_CTR_DUPLICATE_REQUEST], 0);
		sim_end(s);
	}
}

static void send(void) { every_size(ops[0]); }
static void send_imm(void) { every_size(ops[1]); }
static void send_inv(void) { every_size(ops[2]); }
static void write(void) { every_size(ops[3]); }
static void write_imm(void) { every_size(ops[4]); }
static void read(void) { every_size(ops[5]); }

static const struct ktap_test tests[] = {
	KTAP(send),
	KTAP(send_imm),
	KTAP(send_inv),
	KTAP(write),
	KTAP(write_imm),
	KTAP(read),
};

KTAP_MAIN(tests)
