// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random messages into persistent memory, from device a to device b, for some
 * time, with an oracle: when a message is reported as durable, its bytes must be
 * in place, and with host flush the target must have released it before. The
 * network in between may be bad.
 *
 *   persist_traffic [-T SECONDS] [-q PAIRS] [-s MAX-SIZE] [-d DEPTH] [-w] [-H] [-m MTU]
 *	[-t TIMEOUT]
 *
 * It says "running" once it is connected. Every second connection has host flush, with
 * -H every one: user-mode Linux has no other. -w: plain RDMA WRITEs and SENDs only, for
 * an initiator that supports no more. CAIRN_DAX: devdax for NIC flush, otherwise it
 * is emulated.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "vt_persist.h"

#define MAX_DEPTH	64
#define QUIET_MS	vt_ms(60000)

enum op_kind { OP_PERSIST, OP_EARLY, OP_IMM, OP_WRITE, OP_SEND, OP_KINDS };

struct op {
	u64 seed;
	u32 len;
	u8 kind;		/* enum op_kind */
	bool posted;		/* not yet durable or completed */
	bool asked;		/* host flush: the target has the request */
	bool released;
	bool told;		/* with immediate data: the target has its receive */
	bool received;		/* early: the WR has its own completion */
	u32 psn;
};

struct conn {
	struct vt_end a, b;
	struct vt_region to;
	bool host;
	struct op ops[MAX_DEPTH];
	u64 head, tail;		/* operations posted, at their end */
	u64 reported;		/* WRs that have completed */
	u64 tokens[MAX_DEPTH];	/* not yet answered, with the op */
	u64 token_op[MAX_DEPTH];
	int num_tokens;
};

static struct vt_dev da, db;
static struct conn *conns;
static int num_conns = 4, depth = 16;
static u32 max_size = 20000;
static bool plain_only, host_only;
static bool busy;		/* a completion came in this round */
static u64 rand_state = 1, counts[OP_KINDS], bytes, flushes;

static u32 traffic_below(u32 n)
{
	rand_state = rand_state * 6364136223846793005ULL +
		     1442695040888963407ULL;
	return (u32)(rand_state >> 33) % n;
}

static size_t region_size(void)
{
	/* a multiple of the pages of devdax */
	return ((size_t)max_size * depth + VT_DAX_UNIT - 1) &
	       ~(VT_DAX_UNIT - 1UL);
}

static int region_create(struct conn *conn)
{
	size_t len = region_size();

	return vt_region_create(&conn->to, &db, conn->host ? VT_HOST : vt_nic(), len,
				(off_t)(conn - conns) * (off_t)len);
}

static u8 *traffic_source(const struct conn *conn, u64 n)
{
	return conn->a.buf + n % depth * max_size;
}

static u8 *traffic_target(const struct conn *conn, u64 n)
{
	return conn->to.buf + n % depth * max_size;
}

static struct op *op_of(struct conn *conn, u64 n)
{
	return &conn->ops[n % depth];
}

static int conn_create(struct conn *conn, const struct vt_opts *opts, bool host)
{
	int err, i;

	conn->host = host;
	err = vt_end_create(&conn->a, &da, opts, (size_t)max_size * depth) ?:
	      vt_end_create(&conn->b, &db, opts, 4096) ?:
	      vt_connect(&conn->a, &conn->b) ?: region_create(conn);
	for (i = 0; i < 2 * depth && !err; i++)
		err = vt_recv(&conn->a, 0) ?: vt_recv(&conn->b, 0);
	return err;
}

static int post_op(struct conn *conn)
{
	static const enum ibv_wr_opcode opcodes[] = {
		[OP_PERSIST] = CAIRNDV_WR_WRITE_PERSIST,
		[OP_EARLY] = CAIRNDV_WR_WRITE_PERSIST,
		[OP_IMM] = CAIRNDV_WR_WRITE_PERSIST_WITH_IMM,
		[OP_WRITE] = IBV_WR_RDMA_WRITE,
		[OP_SEND] = IBV_WR_SEND,
	};
	u64 n = conn->head;
	struct op *op = op_of(conn, n);
	struct ibv_sge sge = {
		.addr = (uintptr_t)traffic_source(conn, n), .lkey = conn->a.mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = n, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = htobe32((u32)n),
		.wr.rdma = { (uintptr_t)traffic_target(conn, n), conn->to.mr->rkey },
	}, *bad;

	*op = (struct op) { .posted = true, .seed = ~n ^ (u64)conn->b.qp->qp_num };
	op->kind = plain_only ? OP_WRITE + traffic_below(2) : traffic_below(OP_KINDS);
	op->len = traffic_below(8) ? 1 + traffic_below(max_size) : 1 + traffic_below(64);
	vt_fill(traffic_source(conn, n), op->len, op->seed);
	sge.length = op->len;
	if (op->kind == OP_EARLY)
		wr.send_flags |= CAIRNDV_SEND_EARLY;
	if (op->kind == OP_SEND)
		wr.num_sge = 0;
	if (!traffic_below(16))
		wr.send_flags |= IBV_SEND_FENCE;
	wr.opcode = opcodes[op->kind];
	errno = ibv_post_send(conn->a.qp, &wr, &bad);
	if (errno)
		return vt_err("ibv_post_send");
	conn->head++;
	return 0;
}

static int bad_wc(const char *what, const struct ibv_wc *wc)
{
	vt_say("%s: wr_id %llu, status %d, vendor_err %#x", what,
	       (unsigned long long)wc->wr_id, wc->status, wc->vendor_err);
	return EIO;
}

static int flush_wanted(struct conn *conn, const struct ibv_wc *wc,
			const struct cairndv_persist_info *info)
{
	u64 offset = info->va - (uintptr_t)conn->to.buf;
	struct op *op;
	u64 n;

	if (wc->status || !conn->host || offset % max_size)
		return bad_wc("receive completion of the target", wc);
	for (n = conn->tail; n != conn->head; n++)
		if (n % depth == offset / max_size)
			break;
	op = op_of(conn, n);
	if (n == conn->head || op->asked || op->kind == OP_SEND ||
	    op->len != info->length)
		return bad_wc("a flush without a message, or twice", wc);
	op->asked = true;
	if (vt_check(traffic_target(conn, n), op->len, op->seed) >= 0)
		return bad_wc("a flush of bytes that are not there", wc);
	if ((op->kind == OP_IMM) != !!(wc->wc_flags & IBV_WC_WITH_IMM) ||
	    (op->kind == OP_IMM && be32toh(wc->imm_data) != (u32)n))
		return bad_wc("a flush with wrong immediate data", wc);
	op->told = true;
	conn->tokens[conn->num_tokens] = info->token;
	conn->token_op[conn->num_tokens++] = n;
	flushes++;
	return vt_recv(&conn->b, 0);
}

/* A receive with immediate data: the message is there, once. */
static int traffic_told(struct conn *conn, const struct ibv_wc *wc,
			const struct cairndv_persist_info *info)
{
	u64 n = conn->tail + (u32)(be32toh(wc->imm_data) - (u32)conn->tail);
	struct op *op = op_of(conn, n);

	if (conn->host || n >= conn->head || op->kind != OP_IMM || op->told ||
	    info->length != op->len || info->va != (uintptr_t)traffic_target(conn, n))
		return bad_wc("told without a message, or twice", wc);
	op->told = true;
	if (vt_check(traffic_target(conn, n), op->len, op->seed) >= 0)
		return bad_wc("told of bytes that are not there", wc);
	return vt_recv(&conn->b, 0);
}

static int traffic_received(struct conn *conn, const struct ibv_wc *wc,
			    const struct cairndv_persist_info *info)
{
	switch (info->kind) {
	case CAIRNDV_PERSIST_FLUSH:
		return flush_wanted(conn, wc, info);
	case CAIRNDV_PERSIST_RECEIVED:
		return traffic_told(conn, wc, info);
	default:
		return wc->status ? bad_wc("receive", wc) : vt_recv(&conn->b, 0);
	}
}

static int poll_one(struct ibv_cq *cq, struct ibv_wc *wc,
		    struct cairndv_persist_info *info)
{
	memset(info, 0, sizeof(*info));
	if (!cairndv_is_supported(cq->context->device))
		return ibv_poll_cq(cq, 1, wc);
	return cairndv_poll_cq(cq, 1, wc, info);
}

/* @take gets each completion that is in @cq. */
static int conn_drain(struct conn *conn, struct ibv_cq *cq,
		      int (*take)(struct conn *conn, const struct ibv_wc *wc,
				  const struct cairndv_persist_info *info))
{
	struct cairndv_persist_info info;
	struct ibv_wc wc;
	int err = 0;

	while (!err && poll_one(cq, &wc, &info) > 0) {
		busy = true;
		err = take(conn, &wc, &info);
	}
	return err;
}

static int take_received(struct conn *conn)
{
	return conn_drain(conn, conn->b.rcq, traffic_received);
}

/* Operation @n was reported as durable: is it? */
static int traffic_durable(struct conn *conn, u64 n)
{
	struct op *op = op_of(conn, n);
	ssize_t at;

	/* the target's receive completes before the message is acknowledged */
	if (op->kind == OP_IMM && !op->told && take_received(conn))
		return EBADMSG;
	if (op->kind == OP_IMM && !op->told) {
		vt_say("message %llu durable, and the target was not told",
		       (unsigned long long)n);
		return EBADMSG;
	}
	op->posted = false;
	counts[op->kind]++;
	if (op->kind == OP_SEND)
		return 0;
	bytes += op->len;
	if (conn->host && !op->released) {
		vt_say("message %llu durable, but not released",
		       (unsigned long long)n);
		return EBADMSG;
	}
	at = vt_check(traffic_target(conn, n), op->len, op->seed);
	if (at >= 0) {
		vt_say("message %llu durable, but byte %zd of %u is wrong",
		       (unsigned long long)n, at, op->len);
		return EBADMSG;
	}
	return 0;
}

static int traffic_sent(struct conn *conn, const struct ibv_wc *wc,
			const struct cairndv_persist_info *info)
{
	struct op *op = op_of(conn, wc->wr_id);

	if (wc->status || wc->wr_id != conn->reported++)
		return bad_wc("send completion", wc);
	if (op->kind != OP_EARLY)
		return traffic_durable(conn, wc->wr_id);
	op->received = true;
	op->psn = info->psn;
	return 0;
}

static int take_sent(struct conn *conn)
{
	return conn_drain(conn, conn->a.scq, traffic_sent);
}

/* The completion of the oldest early operation that is not durable yet. */
static int durable_notice(struct conn *conn, const struct ibv_wc *wc,
			  const struct cairndv_persist_info *info)
{
	/* the request's own completion came before this one */
	int err = take_sent(conn);
	u64 n;

	if (err)
		return err;
	if (wc->status || info->kind != CAIRNDV_PERSIST_DURABLE)
		return bad_wc("receive completion of the initiator", wc);
	for (n = conn->tail; n != conn->head; n++)
		if (op_of(conn, n)->kind == OP_EARLY && op_of(conn, n)->posted)
			break;
	if (n == conn->head || !op_of(conn, n)->received ||
	    op_of(conn, n)->psn != info->psn ||
	    info->va != (uintptr_t)traffic_target(conn, n))
		return bad_wc("durable, but no early message is pending", wc);
	return traffic_durable(conn, n) ?: vt_recv(&conn->a, 0);
}

static int release_some(struct conn *conn)
{
	int i, err;

	while (conn->num_tokens && !traffic_below(3)) {
		i = traffic_below(conn->num_tokens);
		op_of(conn, conn->token_op[i])->released = true;
		err = cairndv_persist_done(db.ctx, conn->tokens[i], 0);
		if (err) {
			errno = err;
			return vt_err("cairndv_persist_done");
		}
		conn->num_tokens--;
		conn->tokens[i] = conn->tokens[conn->num_tokens];
		conn->token_op[i] = conn->token_op[conn->num_tokens];
	}
	return 0;
}

static int conn_turn(struct conn *conn, bool more)
{
	int err = 0;

	while (!err && more && conn->head - conn->tail < (u64)depth && traffic_below(4))
		err = post_op(conn);
	err = err ?: take_received(conn) ?: release_some(conn) ?: take_sent(conn) ?:
	      conn_drain(conn, conn->a.rcq, durable_notice);
	while (conn->tail != conn->head && !op_of(conn, conn->tail)->posted)
		conn->tail++;
	return err;
}

static bool all_ended(void)
{
	int i;

	for (i = 0; i < num_conns; i++)
		if (conns[i].head != conns[i].tail)
			return false;
	return true;
}

static int traffic_run(int seconds)
{
	u64 end = vt_now_ms() + seconds * 1000ULL, active = vt_now_ms();
	unsigned int idle = 0;
	int i, err = 0;

	while (!err && (vt_now_ms() < end || !all_ended())) {
		busy = false;
		for (i = 0; i < num_conns && !err; i++)
			err = conn_turn(&conns[i], vt_now_ms() < end);
		if (busy) {
			active = vt_now_ms();
			idle = 0;
		} else {
			vt_relax(&idle);
		}
		if (vt_now_ms() > active + QUIET_MS) {
			vt_say("no progress");
			err = ETIMEDOUT;
		}
	}
	return err;
}

static enum ibv_mtu mtu_of(int n)
{
	return n == 4096 ? IBV_MTU_4096 : n == 2048 ? IBV_MTU_2048 :
	       n == 512 ? IBV_MTU_512 : n == 256 ? IBV_MTU_256 : IBV_MTU_1024;
}

int main(int argc, char **argv)
{
	struct vt_opts opts = VT_OPTS;
	int c, i, seconds = 5, err = 0;

	opts.timeout = 14;
	while ((c = getopt(argc, argv, "T:q:s:d:m:t:wH")) != -1)
		switch (c) {
		case 'T': seconds = atoi(optarg); break;
		case 'q': num_conns = atoi(optarg); break;
		case 's': max_size = atoi(optarg); break;
		case 'd': depth = atoi(optarg); break;
		case 'm': opts.mtu = mtu_of(atoi(optarg)); break;
		case 't': opts.timeout = atoi(optarg); break;
		case 'w': plain_only = true; break;
		case 'H': host_only = true; break;
		default: return 2;
		}
	if (depth < 1 || depth > MAX_DEPTH || num_conns < 1)
		return 2;
	max_size = (max_size + 63) & ~63u;
	opts.cap.max_send_wr = depth;
	opts.cap.max_recv_wr = 2 * depth;
	opts.cqe = 4 * depth;
	conns = calloc(num_conns, sizeof(*conns));
	if (!conns || vt_dax_open() || !vt_open_both(&da, &db, VT_IPV4))
		return 1;
	for (i = 0; i < num_conns && !err; i++)
		err = conn_create(&conns[i], &opts, host_only || i & 1);
	if (!err)
		vt_say("running");
	err = err ?: traffic_run(seconds);
	printf("%llu WRITE_PERSIST, %llu early, %llu immediate, %llu WRITE, %llu SEND; %llu bytes; %llu host flushes\n",
	       (unsigned long long)counts[OP_PERSIST],
	       (unsigned long long)counts[OP_EARLY],
	       (unsigned long long)counts[OP_IMM],
	       (unsigned long long)counts[OP_WRITE],
	       (unsigned long long)counts[OP_SEND], (unsigned long long)bytes,
	       (unsigned long long)flushes);
	for (i = 0; i < num_conns; i++) {
		vt_end_destroy(&conns[i].a);
		vt_end_destroy(&conns[i].b);
		vt_region_destroy(&conns[i].to);
	}
	vt_close(&da);
	vt_close(&db);
	return err != 0;
}
