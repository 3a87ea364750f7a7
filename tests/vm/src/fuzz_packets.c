// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Invalid packets to queue pairs of the second device.
 *
 *	fuzz_packets [-s SEED] [-t SECONDS] [-n FRAMES]
 *
 * They enter the wire by a raw socket on the first device's netdev: single packets and
 * trains, IPv4 and IPv6. Most have the right lengths, ICRC, keys and PSNs, so that many
 * checks pass. Then a field, a length or a byte is changed. The queue pairs have requests
 * of their own outstanding, which forged responses answer. Memory that no packet may
 * write is compared.
 *
 * The seed determines the packets, but not the state in which the queue pairs get them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <sys/socket.h>
#include <infiniband/cairndv.h>
#include "ktap.h"
#include "vt.h"

#define BUF		32768
#define GUARD		8192
#define PMTU		1024
#define MAX_FRAME	60000
#define GSO_UDP_L4	5	/* of struct virtio_net_hdr */

enum { RC, RC_SRQ, RC_HOST, UC, UD, VICTIMS };

static struct vt_dev da, db;
static struct vt_end peer[VICTIMS], victim[VICTIMS];
static struct ibv_srq *srq;
static struct ibv_mr *host_mr, *read_only, *foreign;
static struct ibv_ah *ah;
static struct ibv_pd *other_pd;
static u8 guard[2][GUARD] __aligned(4096);
static u8 host_buf[BUF] __aligned(4096);
static int raw_fd;
static u32 crc_table[256];
static u64 sent, packets, refused, trains, renewed;

static u32 fuzz_below(u32 n)
{
	return ktap_rand_below(n);
}

static bool one_in(u32 n)
{
	return !fuzz_below(n);
}

static u64 fuzz_number(void)
{
	static const u64 edges[] = {
		0, 1, 3, 4, 255, 256, 1023, 1024, 1025, 4096, 0x7fffffff,
		0x80000000, 0x80000001, 0xffffffff, 1ULL << 63, ~0ULL,
	};

	return one_in(2) ? edges[fuzz_below(sizeof(edges) / sizeof(edges[0]))] :
			   ktap_rand() >> fuzz_below(64);
}

static void fuzz_put16(u8 *bytes, u32 v)
{
	bytes[0] = v >> 8;
	bytes[1] = v;
}

static void fuzz_put32(u8 *bytes, u32 v)
{
	fuzz_put16(bytes, v >> 16);
	fuzz_put16(bytes + 2, v);
}

static void fuzz_put64(u8 *bytes, u64 v)
{
	fuzz_put32(bytes, v >> 32);
	fuzz_put32(bytes + 4, v);
}

/* --- one packet, from its BTH on ---------------------------------------- */

/* Bytes of headers behind the BTH, by the lower five bits of the opcode. */
static const u8 ext_len[32] = {
	[0x03] = 4, [0x05] = 4, [0x06] = 16, [0x09] = 4, [0x0a] = 16, [0x0b] = 20,
	[0x0c] = 16, [0x0d] = 4, [0x0f] = 4, [0x10] = 4, [0x11] = 4, [0x12] = 12,
	[0x13] = 28, [0x14] = 28, [0x16] = 4, [0x17] = 4,
};

/* The message that a victim has received in part, as far as packets are in order. */
static struct message {
	enum { NONE, SEND, WRITE, PERSIST } kind;
	u32 left;		/* bytes that follow */
} message[VICTIMS];

#define ONE_OF(list)	((list)[fuzz_below(sizeof(list))])

/* Return: an opcode that may come next, for RC. */
static u8 next_opcode(struct message *message)
{
	static const u8 begin[] = { 0, 4, 5, 6, 0xa, 0xb, 0xc, 0x13, 0x14, 0x17, 0xc0, 0xc3 };
	static const u8 send_last[] = { 2, 3, 0x16 }, write_last[] = { 8, 9 };
	u8 op;

	if (message->kind == NONE) {
		op = ONE_OF(begin);
		message->kind = op == 0 ? SEND : op == 6 ? WRITE : op == 0xc0 ? PERSIST : NONE;
		message->left = PMTU + 1 + fuzz_below(2 * PMTU);
		return op;
	}
	if (message->left > PMTU)
		return message->kind == SEND ? 1 : message->kind == WRITE ? 7 : 0xc1;
	op = message->kind == SEND ? ONE_OF(send_last) :
	     message->kind == WRITE ? ONE_OF(write_last) : 0xc2;
	message->kind = NONE;
	return op;
}

static u8 any_opcode(u32 victim)
{
	static const u8 response[] = { 0xd, 0xe, 0xf, 0x10, 0x11, 0x11, 0x11, 0x12, 0xc8, 0x81 };
	static const u8 uc[] = { 0x20, 0x24, 0x25, 0x26, 0x2a, 0x2b, 0x21, 0x22, 0x27, 0x28 };

	if (one_in(60))
		return ktap_rand();
	if (victim == UD)
		return 0x64 + fuzz_below(2);
	if (victim == UC)
		return ONE_OF(uc);
	if (one_in(60))
		return fuzz_below(0x18);
	return one_in(4) ? ONE_OF(response) : next_opcode(&message[victim]);
}

static u32 ext_of(u8 op)
{
	if (op == 0xc0 || op == 0xc3)
		return 16;
	if (op == 0xc8)
		return 4;
	if (op == 0x81)
		return 16;	/* reserved bytes of a CNP */
	return ext_len[op & 31] + (op >> 5 == 3 ? 8 : 0);
}

static bool is_response(u8 op)
{
	return (op >= 0x0d && op <= 0x12) || op == 0xc8;
}

static bool has_payload(u8 op)
{
	u8 low = op & 31;

	return op != 0x81 && op != 0xc8 && low != 0x0c &&
	       !(low >= 0x11 && low <= 0x14);
}

/* FIRST and MIDDLE are as long as the path MTU. */
static bool is_full(u8 op)
{
	static const u32 full = 1 << 0 | 1 << 1 | 1 << 6 | 1 << 7 | 1 << 0xd | 1 << 0xe;

	return op >= 0xc0 ? op < 0xc2 : full >> (op & 31) & 1;
}

/* LAST of a message that began here has its remaining length. */
static bool is_last(u8 op)
{
	return op == 2 || op == 3 || op == 8 || op == 9 || op == 0x16 || op == 0xc2;
}

static u32 rq_psn[VICTIMS], sq_psn[VICTIMS];

/* Return: false if it is in error. */
static bool learn_psns(u32 v)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(victim[v].qp, &attr,
			 IBV_QP_STATE | IBV_QP_RQ_PSN | IBV_QP_SQ_PSN, &init))
		return false;
	rq_psn[v] = attr.rq_psn;
	sq_psn[v] = attr.sq_psn;
	return attr.qp_state == IBV_QPS_RTS;
}

static void put_reth(u8 *bytes, u32 v, u32 len)
{
	u64 va = (uintptr_t)victim[v].buf + fuzz_below(BUF / 2);
	u32 key = victim[v].mr->rkey;

	if (v == RC_HOST && one_in(2)) {
		va = (uintptr_t)host_buf + fuzz_below(BUF / 2);
		key = host_mr->rkey;
	}
	switch (fuzz_below(60)) {
	case 0: va = (uintptr_t)guard[0]; key = read_only->rkey; break;
	case 1: va = (uintptr_t)guard[1]; key = foreign->rkey; break;
	case 2: va = fuzz_number(); break;
	case 3: key ^= 1u << fuzz_below(32); break;
	case 4: va += BUF; break;
	}
	fuzz_put64(bytes, va);
	fuzz_put32(bytes + 8, key);
	fuzz_put32(bytes + 12, one_in(40) ? fuzz_number() : len);
}

static void put_ext(u8 *bytes, u8 op, u32 v, u32 len)
{
	u32 n = ext_of(op);

	ktap_rand_fill(bytes, n);
	if (op >> 5 == 3) {
		fuzz_put32(bytes, one_in(10) ? 5 : VT_QKEY);
		fuzz_put32(bytes + 4, fuzz_below(1 << 24));
		return;
	}
	if (n == 16 || n == 20)
		put_reth(bytes, v, is_full(op) ? message[v].left : len);
	if (n == 28) {
		put_reth(bytes, v, 0);
		bytes[7] &= one_in(20) ? 0xff : 0xf8;
	}
	if (is_response(op)) {
		static const u8 syndromes[] = { 0, 0x1f, 0x2c, 0x60, 0x60, 0x60, 0x61,
						0x62, 0x63, 0x64, 0x65 };

		if (!one_in(4))
			bytes[0] = syndromes[fuzz_below(sizeof(syndromes))];
	}
}

/* Return: its length without the ICRC. */
static u32 make_packet(u8 *bytes, u32 v)
{
	u8 op = any_opcode(v);
	u32 ext = ext_of(op), len = 0, pad, psn, qpn = victim[v].qp->qp_num;

	if (has_payload(op))
		len = is_full(op) ? PMTU : is_last(op) ? message[v].left :
		      fuzz_below(2) ? fuzz_below(PMTU + 1) : fuzz_below(16);
	if (one_in(40))
		len = fuzz_below(2 * PMTU);
	pad = -len & 3;
	psn = is_response(op) ? sq_psn[v] - 1 - fuzz_below(4) : rq_psn[v]++;
	if (one_in(20))
		psn += fuzz_below(16) - 8;
	if (one_in(40))
		psn += one_in(2) ? fuzz_below(600) : ktap_rand();
	if (one_in(40))
		qpn = fuzz_below(3);
	bytes[0] = op;
	bytes[1] = pad << 4 | 0x40 | (one_in(30) ? fuzz_below(256) : 0) |
	       (one_in(3) ? 0x80 : 0);
	fuzz_put16(bytes + 2, one_in(40) ? fuzz_number() : 0xffff);
	fuzz_put32(bytes + 4, qpn | (one_in(20) ? (u32)fuzz_below(256) << 24 : 0));
	fuzz_put32(bytes + 8, (psn & 0xffffff) | (u32)fuzz_below(2) << 31);
	put_ext(bytes + 12, op, v, len);
	ktap_rand_fill(bytes + 12 + ext, len + pad);
	if (is_full(op) && message[v].kind != NONE && message[v].left > PMTU)
		message[v].left -= PMTU;
	return 12 + ext + len + pad;
}

/* --- frames ------------------------------------------------------------- */

static void crc_init(void)
{
	u32 i, k, c;

	for (i = 0; i < 256; i++) {
		for (c = i, k = 0; k < 8; k++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320 : 0);
		crc_table[i] = c;
	}
}

static u32 crc_update(u32 crc, const u8 *bytes, size_t len)
{
	while (len--)
		crc = crc >> 8 ^ crc_table[(crc ^ *bytes++) & 0xff];
	return crc;
}

struct frame {
	u8 bytes[MAX_FRAME];
	u32 ip_at, ip_len;	/* the IP header */
	u32 len;
	bool ipv6;
};

/* The ICRC of @len bytes at @bth, in a datagram of its own with this IPv4 id. */
static u32 fuzz_icrc(const struct frame *frame, const u8 *bth, u32 len, u32 id)
{
	u8 head[40 + 8 + 12];
	u32 n = frame->ip_len;

	memcpy(head, frame->bytes + frame->ip_at, n + 8);
	memcpy(head + n + 8, bth, 12);
	if (frame->ipv6) {
		head[0] |= 0x0f;	/* class and label count as ones */
		memset(head + 1, 0xff, 3);
		fuzz_put16(head + 4, 8 + len + 4);
		head[7] = 0xff;
	} else {
		head[1] = 0xff;
		fuzz_put16(head + 2, n + 8 + len + 4);
		fuzz_put16(head + 4, id);
		head[8] = 0xff;
		memset(head + 10, 0xff, 2);
	}
	fuzz_put16(head + n + 4, 8 + len + 4);
	memset(head + n + 6, 0xff, 2);
	head[n + 8 + 4] = 0xff;
	return ~crc_update(crc_update(crc_update(~0u, (const u8 *)"\xff\xff\xff\xff"
		"\xff\xff\xff\xff", 8), head, n + 8 + 12), bth + 12, len - 12);
}

static void ip4_checksum(u8 *ip)
{
	u32 i, sum = 0;

	fuzz_put16(ip + 10, 0);
	for (i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	fuzz_put16(ip + 10, ~(sum + (sum >> 16)));
}

static void begin_frame(struct frame *frame, u16 sport)
{
	static const u8 to[6] = { 2, 0, 0, 0x77, 0, 2 }, from[6] = { 2, 0, 0, 0x77, 0, 1 };
	u8 *ip;

	frame->ipv6 = one_in(8);
	memcpy(frame->bytes, to, 6);
	memcpy(frame->bytes + 6, from, 6);
	fuzz_put16(frame->bytes + 12, frame->ipv6 ? ETH_P_IPV6 : ETH_P_IP);
	frame->ip_at = 14;
	frame->ip_len = frame->ipv6 ? 40 : 20;
	ip = frame->bytes + frame->ip_at;
	memset(ip, 0, frame->ip_len + 8);
	if (frame->ipv6) {
		ip[0] = 0x60;
		ip[1] = fuzz_below(4) << 4;
		ip[6] = IPPROTO_UDP;
		ip[7] = 64;
		inet_pton(AF_INET6, "fd77::1", ip + 8);
		inet_pton(AF_INET6, "fd77::2", ip + 24);
	} else {
		ip[0] = 0x45;
		ip[1] = fuzz_below(4);	/* with the mark of congestion, too */
		fuzz_put16(ip + 4, fuzz_below(65536));
		ip[8] = 64;
		ip[9] = IPPROTO_UDP;
		memcpy(ip + 12, da.gid.raw + 12, 4);
		memcpy(ip + 16, db.gid.raw + 12, 4);
	}
	fuzz_put16(ip + frame->ip_len, sport);
	fuzz_put16(ip + frame->ip_len + 2, 4791);
	frame->len = frame->ip_at + frame->ip_len + 8;
}

/* @extra: bytes in the length of IP and not in that of UDP. */
static void end_frame(struct frame *frame, u32 extra)
{
	u8 *ip = frame->bytes + frame->ip_at;
	u32 len = frame->len - frame->ip_at;

	fuzz_put16(ip + frame->ip_len + 4, len - frame->ip_len - extra);
	if (frame->ipv6) {
		fuzz_put16(ip + 4, len - 40);
	} else {
		fuzz_put16(ip + 2, len);
		ip4_checksum(ip);
	}
}

static void add_packet(struct frame *frame, u32 len, u32 id, bool good)
{
	u32 crc = fuzz_icrc(frame, frame->bytes + frame->len, len, id);

	if (!good)
		crc ^= 1u << fuzz_below(32);
	frame->len += len;
	/* already little endian */
	memcpy(frame->bytes + frame->len, &crc, 4);
	frame->len += 4;
}

static void send_frame(struct frame *frame, u32 gso)
{
	struct virtio_net_hdr hdr = { 0 };
	struct iovec iov[2] = {
		{ &hdr, sizeof(hdr) }, { frame->bytes, frame->len },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	u32 headers = frame->ip_at + frame->ip_len + 8;

	if (gso) {
		hdr.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
		hdr.gso_type = GSO_UDP_L4;
		hdr.gso_size = gso;
		hdr.hdr_len = headers;
		hdr.csum_start = frame->ip_at + frame->ip_len;
		hdr.csum_offset = 6;
	}
	if (sendmsg(raw_fd, &msg, 0) < 0) {
		refused++;
		return;
	}
	sent++;
	packets += gso ? (frame->len - headers + gso - 1) / gso : 1;
}

static void one_packet(struct frame *frame, u32 victim)
{
	u32 len = make_packet(frame->bytes + frame->len, victim), extra = 0;
	u32 id = frame->bytes[frame->ip_at + 4] << 8 | frame->bytes[frame->ip_at + 5];
	u8 *bth = frame->bytes + frame->len;

	/* unchanged, or with a changed bit, under a right or wrong ICRC */
	if (one_in(20))
		bth[fuzz_below(len)] ^= 1 << fuzz_below(8);
	if (one_in(40))
		len = 12 + fuzz_below(len - 11);
	add_packet(frame, len, id, !one_in(40));
	if (one_in(60)) {
		extra = fuzz_below(40);
		frame->len += extra;
	}
	end_frame(frame, extra);
	if (one_in(60))
		frame->len -= fuzz_below(frame->len - frame->ip_at - 1);
	if (one_in(60))
		frame->bytes[frame->ip_at + fuzz_below(frame->ip_len + 8)] ^= 1 << fuzz_below(8);
	send_frame(frame, 0);
}

/* Packets of equal length, the last may be shorter; of one queue pair or several. */
static void one_train(struct frame *frame, u32 victim)
{
	u32 n = 2 + fuzz_below(20), k, stride = 0, len;
	u32 id = frame->bytes[frame->ip_at + 4] << 8 | frame->bytes[frame->ip_at + 5];

	for (k = 0; k < n && frame->len < MAX_FRAME - 4096; k++) {
		if (one_in(6))
			victim = fuzz_below(VICTIMS);
		len = make_packet(frame->bytes + frame->len, victim);
		if (!k)
			stride = len + 4;
		if (len + 4 < stride && k + 1 < n) {
			/* longer: the pad is wrong, or right by chance */
			memset(frame->bytes + frame->len + len, 0, stride - len);
			len = stride - 4;
		}
		if (len + 4 > stride)
			len = stride - 4;
		add_packet(frame, len, one_in(60) ? id : id + k, !one_in(60));
	}
	end_frame(frame, 0);
	trains++;
	send_frame(frame, one_in(30) ? 1 + fuzz_below(2000) : stride);
}

/* --- the victims -------------------------------------------------------- */

static bool make_ends(u32 v)
{
	struct vt_opts opts = VT_OPTS;

	opts.timeout = v == RC ? 18 : 8;
	opts.retry_cnt = v == RC ? 7 : 1;
	if (v == UC)
		opts.type = IBV_QPT_UC;
	if (v == UD)
		opts.type = IBV_QPT_UD;
	return !vt_end_create(&peer[v], &da, &opts, BUF) &&
	       !vt_end_create(&victim[v], &db, &opts, BUF);
}

/* The first victim's peer does not answer, so that its requests stay outstanding. */
static bool connect_victim(u32 v)
{
	if (v != RC)
		return !vt_connect(&peer[v], &victim[v]);
	return !vt_to_init(&victim[v]) && !vt_to_rtr(&victim[v], &peer[v]) &&
	       !vt_to_rts(&victim[v]);
}

/* A victim with receives from an SRQ. */
static bool make_srq_victim(void)
{
	struct ibv_srq_init_attr init = { .attr = { 64, 1, 0 } };
	struct vt_end *end = &victim[RC_SRQ];
	struct ibv_qp_init_attr qi = {
		.send_cq = end->scq, .recv_cq = end->rcq, .qp_type = IBV_QPT_RC,
		.cap = { 64, 0, 4, 0, 0 },
	};

	srq = ibv_create_srq(db.pd, &init);
	qi.srq = srq;
	if (!srq || ibv_destroy_qp(end->qp))
		return false;
	end->qp = ibv_create_qp(db.pd, &qi);
	return end->qp;
}

static bool make_all(void)
{
	u32 victim;

	for (victim = 0; victim < VICTIMS; victim++)
		if (!make_ends(victim))
			return false;
	other_pd = ibv_alloc_pd(db.ctx);
	if (!make_srq_victim() || !other_pd)
		return false;
	host_mr = ibv_reg_mr(db.pd, host_buf, BUF, VT_ACCESS | CAIRNDV_ACCESS_PERSISTENT_HOST);
	read_only = ibv_reg_mr(db.pd, guard[0], GUARD, IBV_ACCESS_REMOTE_READ);
	foreign = ibv_reg_mr(other_pd, guard[1], GUARD, VT_ACCESS);
	ah = vt_ah(&db, &da);
	for (victim = 0; victim < VICTIMS; victim++)
		if (!connect_victim(victim))
			return false;
	return host_mr && read_only && foreign && ah;
}

static bool fuzz_renew(u32 v)
{
	renewed++;
	message[v].kind = NONE;
	return !vt_to_state(victim[v].qp, IBV_QPS_RESET) &&
	       !vt_to_state(peer[v].qp, IBV_QPS_RESET) && connect_victim(v);
}

static void post_recvs(struct vt_end *end, u32 v)
{
	struct ibv_sge sge = { (uintptr_t)end->buf + BUF / 2, BUF / 2, end->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	u32 n;

	for (n = 0; n < 8; n++) {
		if (v == RC_SRQ && end == &victim[v])
			ibv_post_srq_recv(srq, &wr, &bad);
		else
			ibv_post_recv(end->qp, &wr, &bad);
	}
}

/* Requests of the victim's own, to its peer. */
static void post_send(u32 v)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	struct vt_end *end = &victim[v];
	struct ibv_sge sge = { (uintptr_t)end->buf, fuzz_below(3 * PMTU), end->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.opcode = ops[fuzz_below(v == UD ? 1 : v == UC ? 2 : 5)],
	}, *bad;

	if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		sge.length = 8;
		wr.wr.atomic.remote_addr = (uintptr_t)peer[v].buf;
		wr.wr.atomic.rkey = peer[v].mr->rkey;
	} else if (v == UD) {
		sge.length = fuzz_below(PMTU);
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = peer[v].qp->qp_num;
		wr.wr.ud.remote_qkey = VT_QKEY;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)peer[v].buf;
		wr.wr.rdma.rkey = peer[v].mr->rkey;
	}
	ibv_post_send(end->qp, &wr, &bad);
}

static void fuzz_drain(struct ibv_cq *cq)
{
	struct ibv_wc wc[16];

	while (ibv_poll_cq(cq, 16, wc) > 0)
		;
}

static bool fuzz_tend(u32 v)
{
	fuzz_drain(victim[v].scq);
	fuzz_drain(victim[v].rcq);
	fuzz_drain(peer[v].scq);
	fuzz_drain(peer[v].rcq);
	post_recvs(&victim[v], v);
	post_recvs(&peer[v], v);
	if (vt_state(victim[v].qp) != IBV_QPS_RTS ||
	    (v != RC && vt_state(peer[v].qp) != IBV_QPS_RTS))
		return fuzz_renew(v);
	return true;
}

static bool open_socket(void)
{
	const char *name = getenv("IF_A");
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = if_nametoindex(name ? name : "va"),
	};
	int on = 1;

	/* protocol 0: it receives no packets */
	raw_fd = socket(AF_PACKET, SOCK_RAW, 0);
	to.sll_protocol = 0;
	return raw_fd >= 0 && !bind(raw_fd, (struct sockaddr *)&to, sizeof(to)) &&
	       !setsockopt(raw_fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on));
}

static int fuzz_run(u64 seconds, u64 most)
{
	static struct frame frame;
	u64 end = vt_now_ms() + seconds * 1000;
	u32 victim = 0, n;

	while (vt_now_ms() < end && sent + refused < most) {
		victim = (victim + 1) % VICTIMS;
		if (!fuzz_tend(victim)) {
			printf("victim %u cannot be connected again\n", victim);
			return 1;
		}
		for (n = 0; n < 50; n++) {
			/* the QP has another PSN, or was destroyed */
			if (!(n % 10)) {
				post_send(victim);
				if (!learn_psns(victim))
					break;
			}
			begin_frame(&frame, 49152 + fuzz_below(4));
			if (one_in(6))
				one_train(&frame, victim);
			else
				one_packet(&frame, victim);
		}
	}
	if (vt_check(guard[0], GUARD, 1) >= 0 || vt_check(guard[1], GUARD, 2) >= 0) {
		puts("memory was written that no packet may write");
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	u64 seed = time(NULL), seconds = 10, most = ~0ULL;
	int c, rc;

	while ((c = getopt(argc, argv, "s:t:n:")) != -1) {
		switch (c) {
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 't': seconds = strtoull(optarg, NULL, 0); break;
		case 'n': most = strtoull(optarg, NULL, 0); break;
		default: return 2;
		}
	}
	ktap.rand = seed;
	crc_init();
	vt_fill(guard[0], GUARD, 1);
	vt_fill(guard[1], GUARD, 2);
	if (!open_socket() || vt_open(&da, vt_name_a(), VT_IPV4, -1) ||
	    vt_open(&db, vt_name_b(), VT_IPV4, -1) || !make_all()) {
		printf("cannot begin: %s\n", strerror(errno));
		return 1;
	}
	printf("seed %llu\n", seed);
	rc = fuzz_run(seconds, most);
	printf("%llu packets in %llu frames, %llu of them trains; %llu refused by the socket; "
	       "%llu connections made again\n", packets, sent, trains, refused, renewed);
	return rc;
}
