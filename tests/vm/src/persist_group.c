// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A group whose members are reached by both devices, with completion queues and
 * protection domains of their own. Its program sleeps until an event or a deadline.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include "vt_persist.h"
#include "vt_test.h"

#define RECORD		64u
#define RECORDS		300u
#define LEAVES		100u	/* the second member, before this record */
#define RETURNS		200u
#define DEPTH		16u
#define LONG_MS		vt_ms(30000)

static struct vt_dev da, db;

struct member {
	struct vt_end writer, target;
	struct vt_region to;
};

static void member_create(struct member *member, struct vt_dev *from, struct vt_dev *to,
			  unsigned int kind, off_t at)
{
	struct vt_opts opts = VT_OPTS;

	memset(member, 0, sizeof(*member));
	opts.channel = true;
	must(!vt_end_create(&member->writer, from, &opts, 4096));
	must(!vt_end_create(&member->target, to, &opts, 4096));
	must(!vt_connect(&member->writer, &member->target));
	must(!vt_region_create(&member->to, to, kind, VT_DAX_UNIT, at));
}

static void member_destroy(struct member *member)
{
	vt_end_destroy(&member->writer);
	vt_end_destroy(&member->target);
	ktap_eq(vt_region_destroy(&member->to), 0);
}

static struct cairndv_group_dest group_dest(const struct member *member, u32 at, u32 lkey)
{
	return (struct cairndv_group_dest){
		.remote_addr = (uintptr_t)member->to.buf + at,
		.rkey = member->to.mr->rkey, .lkey = lkey,
	};
}

/* Sleep until an answer of a queue arrives, or a deadline ends. */
static void group_sleep(struct cairndv_persist_group *group, struct member *const member[2])
{
	struct pollfd event[2] = {};
	int wait = cairndv_persist_group_timeout(group);
	struct ibv_cq *cq;
	void *context;
	int ready;

	for (int i = 0; i < 2; i++)
		event[i] = (struct pollfd){ member[i]->writer.schan->fd, POLLIN, 0 };
	ready = poll(event, 2, wait < 0 || wait > LONG_MS ? LONG_MS : wait);
	must(ready >= 0 && (ready || wait >= 0));
	for (int i = 0; i < 2; i++) {
		if (!event[i].revents)
			continue;
		must(!ibv_get_cq_event(member[i]->writer.schan, &cq, &context));
		ibv_ack_cq_events(cq, 1);
	}
}

/* The next completion of the group, without polling meanwhile. */
static struct cairndv_group_wc group_wait(struct cairndv_persist_group *group,
					  struct member *const member[2])
{
	struct cairndv_group_wc wc;
	int got;

	for (;;) {
		got = cairndv_persist_group_poll(group, 1, &wc);
		if (!got) {
			must(!cairndv_persist_group_arm(group));
			got = cairndv_persist_group_poll(group, 1, &wc);
		}
		must(got >= 0);
		if (got)
			return wc;
		group_sleep(group, member);
	}
}

static void group_leave(struct cairndv_persist_group *group, struct member *member)
{
	struct cairndv_group_wc wc;

	ktap_eq(cairndv_persist_group_drop(group, 1), 0);
	while (cairndv_persist_group_join(group, 1, NULL) == EBUSY)
		must(!cairndv_persist_group_poll(group, 1, &wc));
	member_destroy(member);
}

/* Records while a member leaves, and another one comes by the other device. */
static void records(void)
{
	struct member member[3];
	struct ibv_qp *qp[2];
	struct cairndv_persist_group *group;
	struct cairndv_group_dest dest[2];
	struct cairndv_group_wc wc;
	struct ibv_mr *mr, *other;
	u8 *bytes;
	struct ibv_sge sge = { .length = RECORD };
	struct cairndv_group_wr wr = { .sg_list = &sge, .num_sge = 1, .dest = dest };
	u32 kind = vt_dax() ? CAIRNDV_DURABILITY_ADR : CAIRNDV_DURABILITY_EMULATED;

	member_create(&member[0], &da, &db, vt_nic(), 0);
	member_create(&member[1], &db, &da, vt_nic(), VT_DAX_UNIT);
	member_create(&member[2], &db, &da, vt_nic(), 2 * VT_DAX_UNIT);
	bytes = vt_map(VT_DAX_UNIT);
	must(bytes);
	vt_fill(bytes, RECORDS * RECORD, 7);
	for (int i = 0; i < 2; i++)
		qp[i] = member[i].writer.qp;
	group = cairndv_persist_group_create(qp, 2, DEPTH);
	must(group);
	mr = ibv_reg_mr(da.pd, bytes, VT_DAX_UNIT, IBV_ACCESS_LOCAL_WRITE);
	other = ibv_reg_mr(db.pd, bytes, VT_DAX_UNIT, IBV_ACCESS_LOCAL_WRITE);
	must(mr && other);
	sge.lkey = mr->lkey;
	sge.addr = (uintptr_t)bytes;
	wr.quorum = 2;
	dest[0] = group_dest(&member[0], 0, 0);
	dest[1] = group_dest(&member[1], 0, 0);
	/* one key cannot be of both domains */
	sge.length = 4096;
	ktap_eq(cairndv_persist_group_post(group, &wr), EINVAL);
	sge.length = RECORD;
	for (u32 n = 0; n < RECORDS; n++) {
		struct member *second = n < LEAVES ? &member[1] : &member[2];

		if (n == LEAVES)
			group_leave(group, &member[1]);
		if (n == RETURNS)
			must(!cairndv_persist_group_join(group, 1, member[2].writer.qp));
		sge.addr = (uintptr_t)bytes + n * RECORD;
		dest[0] = group_dest(&member[0], n * RECORD, 0);
		dest[1] = group_dest(second, n * RECORD, other->lkey);
		wr.wr_id = n;
		wr.quorum = n >= LEAVES && n < RETURNS ? 1 : 2;
		wr.durability = kind;
		must(!cairndv_persist_group_post(group, &wr));
		wc = group_wait(group, (struct member *[]){ &member[0], second });
		ktap_eq(wc.kind, CAIRNDV_GROUP_DURABLE);
		ktap_eq(wc.wr_id, n);
		ktap_eq(wc.durable, wr.quorum);
		must(wc.durability && wc.durability <= kind);
		ktap_ok(!memcmp(member[0].to.buf + n * RECORD, bytes + n * RECORD, RECORD));
		if (wr.quorum == 2)
			ktap_ok(!memcmp(second->to.buf + n * RECORD, bytes + n * RECORD,
					RECORD));
	}
	/* what was posted while it was away is not there */
	ktap_eq(member[2].to.buf[LEAVES * RECORD], 0);
	cairndv_persist_group_destroy(group);
	ibv_dereg_mr(other);
	ibv_dereg_mr(mr);
	member_destroy(&member[0]);
	member_destroy(&member[2]);
}

/* The program of one member hangs; the others are reached by the other device. */
static void deadline(void)
{
	struct member member[2];
	struct ibv_qp *qp[2];
	struct cairndv_persist_group *group;
	struct cairndv_group_dest dest[2];
	struct cairndv_group_wc wc;
	char bytes[8] = "record";
	struct ibv_sge sge = { (uintptr_t)bytes, sizeof(bytes), 0 };
	struct cairndv_group_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1,
				       .send_flags = IBV_SEND_INLINE, .quorum = 1,
				       .durability = CAIRNDV_DURABILITY_HOST, .dest = dest };

	member_create(&member[0], &da, &db, vt_nic(), 0);
	member_create(&member[1], &db, &da, VT_HOST, 0);
	must(!vt_recv(&member[1].target, 0));
	for (int i = 0; i < 2; i++) {
		qp[i] = member[i].writer.qp;
		dest[i] = group_dest(&member[i], 0, 0);
	}
	group = cairndv_persist_group_create(qp, 2, DEPTH);
	must(group);
	/* the first one counts on a devdax only */
	wr.durability = vt_dax() ? CAIRNDV_DURABILITY_HOST : 0;
	must(!cairndv_persist_group_set_deadline(group, 1, vt_ms(500)));
	must(!cairndv_persist_group_post(group, &wr));
	wc = group_wait(group, (struct member *[]){ &member[0], &member[1] });
	ktap_eq(wc.kind, CAIRNDV_GROUP_DURABLE);
	ktap_eq(wc.durable, 1);
	/* no event wakes the program: it is the time that ends */
	wc = group_wait(group, (struct member *[]){ &member[0], &member[1] });
	ktap_eq(wc.kind, CAIRNDV_GROUP_TARGET);
	ktap_eq(wc.target, 1);
	ktap_eq(wc.status, IBV_WC_RESP_TIMEOUT_ERR);
	while (cairndv_persist_group_released(group) != 1)
		must(!cairndv_persist_group_poll(group, 1, &wc));
	cairndv_persist_group_destroy(group);
	member_destroy(&member[0]);
	member_destroy(&member[1]);
}

#define TESTS(X) X(records) X(deadline)

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	if (vt_dax_open())
		return vt_bail();
	return vt_run_on(&da, &db, VT_IPV4, argc > 1 ? argv[1] : NULL);
}
