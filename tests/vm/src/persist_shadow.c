// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Power failures at random acknowledgements, checked outside of the driver: messages
 * that had been acknowledged to the initiator by then must be in the image of the
 * target's memory that tests/vm/kmod/cairn_shadow.c keeps.
 *
 *   persist_shadow [-n ROUNDS] [-m MTU] [-s SEED] [-w | -f]
 *
 * Each round sends messages of all sizes and alignments from device a to device
 * b, into ranges of their own, over several connections. This program counts the PSN
 * at which each message ends; the acknowledged PSNs are seen on the wire. It changes
 * the bytes around the messages without write-back: lines that no message touches must
 * not get into the image. -w: plain RDMA WRITEs only, for an initiator that supports no
 * more. -f: each message is an RDMA WRITE into memory that is not persistent by itself,
 * with a FLUSH behind it, whose answer acknowledges the message.
 *
 * CAIRN_DAX: the devdax whose beginning is watched.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "../kmod/cairn_shadow.h"
#include "vt_persist.h"

#define REGION		VT_DAX_UNIT
#define LINE		64
#define QPS		3
#define MESSAGES	40
#define MAX_LEN		30000
#define QUIET_MS	vt_ms(60000)
#define OLD		0xa5
#define NEW		0x5a

struct message {
	u32 off, len, last;	/* last: PSN of the last packet */
	u8 qp;
	bool persist, early;
};

static struct vt_dev da, db;
static struct vt_end a[QPS], b[QPS];
static struct vt_region region;	/* the target's */
static const u8 *image;		/* its bytes that have survived */
static struct message msg[MESSAGES];
static u32 psn[QPS];
static int shadow, mtu = 1024;
static bool plain_only, flushing;
static u64 rand_state = 1, compared, unreported, evictions, streamed;

static u32 shadow_below(u32 n)
{
	rand_state = rand_state * 6364136223846793005ULL +
		     1442695040888963407ULL;
	return (u32)(rand_state >> 33) % n;
}

static u32 some_length(void)
{
	switch (shadow_below(4)) {
	case 0: return 1 + shadow_below(LINE);
	case 1: return 4096;
	case 2: return 1 + shadow_below(3 * (u32)mtu);
	default: return 1 + shadow_below(MAX_LEN);
	}
}

/* Ranges follow each other, mostly with a gap, mostly unaligned. */
static void shadow_choose(void)
{
	u32 off = shadow_below(LINE), i, packets;
	struct message *message;

	for (i = 0; i < MESSAGES; i++) {
		message = &msg[i];
		message->off = shadow_below(4) ? off : (off + 4095) & -4096u;
		message->len = some_length();
		message->qp = shadow_below(QPS);
		message->persist = flushing || (!plain_only && shadow_below(4));
		message->early = message->persist && !flushing && !shadow_below(3);
		packets = (message->len - 1) / mtu + 1 + flushing;
		message->last = (psn[message->qp] + packets - 1) & 0xffffff;
		psn[message->qp] = (message->last + 1) & 0xffffff;
		off = message->off + message->len + (shadow_below(3) ? shadow_below(300) : 0);
	}
}

static int post_flush(const struct message *message)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(a[message->qp].qp);

	ibv_wr_start(qp);
	qp->wr_id = MESSAGES;
	qp->wr_flags = IBV_SEND_SIGNALED;
	cairndv_wr_flush(qp, region.mr->rkey, (uintptr_t)region.buf + message->off,
			 message->len, CAIRNDV_FLUSH_PERSISTENT, CAIRNDV_FLUSH_RANGE);
	errno = ibv_wr_complete(qp);
	return errno ? vt_err("cairndv_wr_flush") : 0;
}

static int shadow_post(const struct message *message, u64 id)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)a[message->qp].buf + message->off,
		.length = message->len, .lkey = a[message->qp].mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1,
		.opcode = message->persist && !flushing ? CAIRNDV_WR_WRITE_PERSIST :
						    IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED |
			      (message->early ? CAIRNDV_SEND_EARLY : 0),
		.wr.rdma = { (uintptr_t)region.buf + message->off,
			     region.mr->rkey },
	}, *bad;

	vt_fill(a[message->qp].buf + message->off, message->len, rand_state ^ id);
	/* for the durable completion */
	if (message->early && vt_recv(&a[message->qp], id))
		return EIO;
	errno = ibv_post_send(a[message->qp].qp, &wr, &bad);
	if (errno)
		return vt_err("ibv_post_send");
	return flushing ? post_flush(message) : 0;
}

/* Poll completions; *@n is the number of pending ones. */
static int shadow_drain(int *n)
{
	struct ibv_wc wc;
	int i, side, got;

	for (i = 0; i < QPS; i++)
		for (side = 0; side < 2; side++) {
			struct ibv_cq *cq = side ? a[i].rcq : a[i].scq;

			while ((got = ibv_poll_cq(cq, 1, &wc)) == 1) {
				if (wc.status) {
					vt_say("message %llu: status %d",
					       (unsigned long long)wc.wr_id,
					       wc.status);
					return EIO;
				}
				--*n;
			}
			if (got < 0)
				return EIO;
		}
	return 0;
}

static int run_messages(void)
{
	u64 end = vt_now_ms() + QUIET_MS;
	unsigned int idle = 0;
	int i, err = 0, left = 0;

	for (i = 0; i < MESSAGES && !err; i++) {
		err = shadow_post(&msg[i], i);
		left += 1 + msg[i].early + flushing;
		if (!err && !shadow_below(4))
			err = shadow_drain(&left);
	}
	while (!err && left) {
		int before = left;

		err = shadow_drain(&left);
		idle = left != before ? 0 : idle;
		vt_relax(&idle);
		if (!err && vt_now_ms() > end) {
			vt_say("%d completions are missing", left);
			err = ETIMEDOUT;
		}
	}
	return err;
}

/* Was the message acknowledged before the power failed? */
static bool shadow_acknowledged(const struct message *message, const struct shadow_state *state)
{
	const struct shadow_qp *qp;

	for (qp = state->qp; qp < state->qp + SHADOW_QPS; qp++) {
		if (qp->qpn != a[message->qp].qp->qp_num)
			continue;
		if (qp->has_persist &&
		    ((qp->persist - message->last) & 0xffffff) < 0x800000)
			return true;
		return !message->persist && qp->has_ack &&
		       ((qp->ack - message->last) & 0xffffff) < 0x800000;
	}
	return false;
}

static int judge_message(const struct message *message, const struct shadow_state *state)
{
	u32 i;

	if (!shadow_acknowledged(message, state)) {
		unreported++;
		return 0;
	}
	compared++;
	for (i = 0; i < message->len; i++)
		if (image[message->off + i] != a[message->qp].buf[message->off + i]) {
			vt_say("%s of %u bytes at %u, acknowledged, lost byte %u",
			       flushing ? "WRITE and FLUSH" :
			       message->persist ? "WRITE_PERSIST" : "WRITE", message->len,
			       message->off, i);
			return EBADMSG;
		}
	return 0;
}

/* Check the lines from @from up to @to, which no message touches. */
static int judge_gap(u32 from, u32 to)
{
	u32 i;

	for (i = (from + LINE - 1) & -LINE; i < (to & -LINE); i++)
		if (image[i] != OLD) {
			vt_say("byte %u was written back and belongs to no message", i);
			return EBADMSG;
		}
	return 0;
}

static int shadow_judge(void)
{
	struct shadow_state state;
	u32 i, at = 0;
	int err;

	if (ioctl(shadow, SHADOW_FAIL) || ioctl(shadow, SHADOW_STATE, &state))
		return vt_err("cairn_shadow");
	evictions += state.evictions;
	streamed += state.streamed;
	if (state.missed) {
		vt_say("%u events were missed", state.missed);
		return EIO;
	}
	for (i = 0, err = 0; i < MESSAGES && !err; i++) {
		err = judge_gap(at, msg[i].off) ?: judge_message(&msg[i], &state);
		at = msg[i].off + msg[i].len;
	}
	return err ?: judge_gap(at, REGION);
}

static int one_round(void)
{
	int err;

	shadow_choose();
	memset(region.buf, OLD, REGION);
	if (ioctl(shadow, SHADOW_ARM, (long)(1 + shadow_below(MESSAGES))))
		return vt_err("SHADOW_ARM");
	memset(region.buf, NEW, REGION);
	err = run_messages();
	return err ?: shadow_judge();
}

static int set_up(void)
{
	struct vt_opts opts = VT_OPTS;
	int i, err = 0;

	opts.mtu = mtu == 4096 ? IBV_MTU_4096 : mtu == 256 ? IBV_MTU_256 :
							   IBV_MTU_1024;
	opts.timeout = 12;
	if (vt_open(&da, vt_name_a(), VT_IPV4, -1) ||
	    vt_open(&db, vt_name_b(), VT_IPV4, -1))
		return ENODEV;
	shadow = open("/dev/cairn_shadow", O_RDWR);
	if (shadow < 0)
		return vt_err("cairn_shadow");
	image = mmap(NULL, REGION, PROT_READ, MAP_SHARED, shadow, 0);
	if (image == MAP_FAILED)
		return vt_err("mmap");
	err = vt_dax_open() ?:
	      vt_region_create(&region, &db, flushing ? VT_FLUSH : VT_NIC,
			       REGION, 0);
	for (i = 0; i < QPS && !err; i++) {
		err = vt_end_create_ex(&a[i], &da, &opts, REGION,
				       flushing ? IBV_QP_EX_WITH_RDMA_WRITE :
						  0) ?:
		      vt_end_create(&b[i], &db, &opts, 4096);
		b[i].o.access |= flushing ? VT_FLUSH : 0;
		err = err ?: vt_connect(&a[i], &b[i]);
		psn[i] = a[i].psn;
	}
	return err;
}

int main(int argc, char **argv)
{
	u64 seed = 1;
	int c, i, rounds = 20, err;

	while ((c = getopt(argc, argv, "n:m:s:wf")) != -1)
		switch (c) {
		case 'n': rounds = atoi(optarg); break;
		case 'm': mtu = atoi(optarg); break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 'w': plain_only = true; break;
		case 'f': flushing = true; break;
		default: return 2;
		}
	rand_state = seed;
	err = set_up();
	for (i = 0; i < rounds && !err; i++)
		err = one_round();
	if (err)
		vt_say("round %d of: -n %d -m %d -s %llu%s%s", i, rounds, mtu,
		       (unsigned long long)seed, plain_only ? " -w" : "",
		       flushing ? " -f" : "");
	printf("%d power failures, %llu acknowledged messages compared, %llu not acknowledged, %llu lines evicted, %llu bytes by non-temporal stores\n",
	       i, (unsigned long long)compared, (unsigned long long)unreported,
	       (unsigned long long)evictions, (unsigned long long)streamed);
	return err || !compared || !unreported || !evictions;
}
