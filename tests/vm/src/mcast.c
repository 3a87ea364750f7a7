// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast datagrams: a, which is in no group, sends to groups that queue pairs
 * of b are in. "mcast 6" does that over IPv6.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#define LONG	vt_ms(20000)
#define QPN	0xffffff
#define MEMBERS	40
#define COPIED	12
#define COPIES	32
#define IN_A_ROW	8

static bool v6;
static struct vt_dev dev[2], net;	/* net.gid: of the group */
static struct vt_end a, b, c;		/* c is on the device of b */

static union ibv_gid mcast_group(const char *name6, const char *name4)
{
	union ibv_gid gid = {};

	if (v6) {
		must(inet_pton(AF_INET6, name6, gid.raw) == 1);
	} else {
		gid.raw[10] = 0xff;
		gid.raw[11] = 0xff;
		must(inet_pton(AF_INET, name4, gid.raw + 12) == 1);
	}
	return gid;
}

static void open_end(struct vt_end *end, struct vt_dev *dev)
{
	struct vt_opts opts = VT_OPTS;

	opts.type = IBV_QPT_UD;
	must(!vt_end_create(end, dev, &opts, 65536));
	must(!vt_to_init(end) && !vt_to_rtr(end, end) && !vt_to_rts(end));
}

static void open_ends(void)
{
	open_end(&a, &dev[0]);
	open_end(&b, &dev[1]);
	open_end(&c, &dev[1]);
	net.gid = mcast_group("ff15::1:2:3", "239.1.2.3");
}

static void close_ends(void)
{
	vt_end_destroy(&a);
	vt_end_destroy(&b);
	vt_end_destroy(&c);
}

static void post_recv(struct vt_end *end)
{
	struct ibv_sge sge = { (uintptr_t)end->buf, 4096, end->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	must(!ibv_post_recv(end->qp, &wr, &bad));
}

/* @n datagrams in a row, numbered from @imm on. */
static void send_to(struct vt_end *end, const struct vt_dev *to, u32 qpn, u32 imm,
		    int n)
{
	struct ibv_sge sge = { (uintptr_t)end->buf + 8192, 100, end->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_wc wc;

	wr.wr.ud.ah = vt_ah(end->dev, to);
	must(wr.wr.ud.ah);
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = VT_QKEY;
	vt_fill(end->buf + 8192, 100, 9);
	for (; n--; imm++) {
		wr.imm_data = htobe32(imm);
		must(!ibv_post_send(end->qp, &wr, &bad));
		must(!vt_poll(end->scq, &wc, 1, LONG) && !wc.status);
	}
	must(!ibv_destroy_ah(wr.wr.ud.ah));
}

/* The same in one list, so that the datagrams can leave as a train. */
static void post_row(struct vt_end *end, const struct vt_dev *to, u32 imm, int n)
{
	struct ibv_sge sge = { (uintptr_t)end->buf + 8192, 100, end->mr->lkey };
	struct ibv_send_wr wr[IN_A_ROW] = {}, *bad;
	struct ibv_ah *ah = vt_ah(end->dev, to);
	struct ibv_wc wc[IN_A_ROW];
	int i;

	must(ah && n <= IN_A_ROW);
	vt_fill(end->buf + 8192, 100, 9);
	for (i = 0; i < n; i++) {
		wr[i] = (struct ibv_send_wr){
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.sg_list = &sge, .num_sge = 1,
			.opcode = IBV_WR_SEND_WITH_IMM,
			.send_flags = IBV_SEND_SIGNALED,
			.imm_data = htobe32(imm + i),
			.wr.ud = { ah, QPN, VT_QKEY },
		};
	}
	must(!ibv_post_send(end->qp, wr, &bad));
	must(!vt_poll(end->scq, wc, n, LONG));
	for (i = 0; i < n; i++)
		must(!wc[i].status);
	must(!ibv_destroy_ah(ah));
}

/* The next datagram that @end receives is number @imm, from @from to the group. */
static void mcast_got(struct vt_end *end, const struct vt_end *from, u32 imm)
{
	const u8 *grh = end->buf;
	struct ibv_wc wc;

	must(!vt_poll(end->rcq, &wc, 1, LONG) && !wc.status);
	ktap_eq(be32toh(wc.imm_data), imm);
	ktap_eq(wc.src_qp, from->qp->qp_num);
	ktap_eq(wc.byte_len, 140);
	ktap_eq(vt_check(end->buf + VT_GRH, 100, 9), -1);
	ktap_ok(v6 ? !memcmp(grh + 24, net.gid.raw, 16) :
		     !memcmp(grh + 36, net.gid.raw + 12, 4));
}

static bool mcast_quiet(struct vt_end *end)
{
	struct ibv_wc wc;

	return !ibv_poll_cq(end->rcq, 1, &wc);
}

/* Two members receive datagrams until they leave. */
static void members(void)
{
	int i;

	open_ends();
	for (i = 0; i < 6; i++) {
		post_recv(&b);
		post_recv(&c);
		post_recv(&a);
	}
	must(!ibv_attach_mcast(b.qp, &net.gid, 0));
	send_to(&a, &net, QPN, 1, 2);
	mcast_got(&b, &a, 1);
	mcast_got(&b, &a, 2);
	ktap_ok(mcast_quiet(&c) && mcast_quiet(&a));
	must(!ibv_attach_mcast(c.qp, &net.gid, 0));
	send_to(&a, &net, QPN, 3, 1);
	mcast_got(&b, &a, 3);
	mcast_got(&c, &a, 3);
	must(!ibv_detach_mcast(b.qp, &net.gid, 0));
	send_to(&a, &net, QPN, 4, 1);
	mcast_got(&c, &a, 4);
	ktap_ok(mcast_quiet(&b));
	must(!ibv_detach_mcast(c.qp, &net.gid, 0));
	must(!ibv_attach_mcast(b.qp, &net.gid, 0));
	send_to(&a, &net, QPN, 5, 1);
	mcast_got(&b, &a, 5);
	ktap_ok(mcast_quiet(&c) && mcast_quiet(&a));
	must(!ibv_detach_mcast(b.qp, &net.gid, 0));
	close_ends();
}

/* A sender in the group gets its own messages, like the other members of its host. */
static void own_messages(void)
{
	open_ends();
	post_recv(&a);
	post_recv(&b);
	post_recv(&c);
	must(!ibv_attach_mcast(a.qp, &net.gid, 0));
	must(!ibv_attach_mcast(b.qp, &net.gid, 0));
	must(!ibv_attach_mcast(c.qp, &net.gid, 0));
	send_to(&b, &net, QPN, 7, 1);
	mcast_got(&a, &b, 7);
	mcast_got(&b, &b, 7);
	mcast_got(&c, &b, 7);
	must(!ibv_detach_mcast(a.qp, &net.gid, 0));
	must(!ibv_detach_mcast(b.qp, &net.gid, 0));
	must(!ibv_detach_mcast(c.qp, &net.gid, 0));
	close_ends();
}

/* Address and queue pair number must fit, and groups are separate. */
static void not_for_us(void)
{
	struct vt_dev other = net;

	open_ends();
	post_recv(&b);
	must(!ibv_attach_mcast(b.qp, &net.gid, 0));
	send_to(&a, &net, b.qp->qp_num, 1, 1);
	send_to(&a, &dev[1], QPN, 2, 1);
	other.gid = mcast_group("ff15::1:2:4", "239.1.2.4");
	must(!ibv_attach_mcast(c.qp, &other.gid, 0));
	send_to(&a, &other, QPN, 3, 1);
	send_to(&a, &net, QPN, 4, 1);
	mcast_got(&b, &a, 4);
	must(!ibv_detach_mcast(b.qp, &net.gid, 0));
	must(!ibv_detach_mcast(c.qp, &other.gid, 0));
	close_ends();
}

/* Does the netdev of b listen to the group? */
static bool mcast_joined(void)
{
	return !system(v6 ? "ip -n b maddr show dev vb | grep -qw ff15::1:2:3" :
			    "ip -n b maddr show dev vb | grep -qw 239.1.2.3") &&
	       !system(v6 ?
		       "ip -n b maddr show dev vb | grep -qw 33:33:00:02:00:03" :
		       "ip -n b maddr show dev vb | grep -qw 01:00:5e:01:02:03");
}

static void membership(void)
{
	pid_t child;
	int result;

	open_ends();
	ktap_ok(!mcast_joined());
	must(!ibv_attach_mcast(b.qp, &net.gid, 0));
	must(!ibv_attach_mcast(b.qp, &net.gid, 0));
	must(!ibv_attach_mcast(c.qp, &net.gid, 0));
	ktap_ok(mcast_joined());
	must(!ibv_detach_mcast(b.qp, &net.gid, 0));
	ktap_ok(mcast_joined());
	must(!ibv_detach_mcast(c.qp, &net.gid, 0));
	ktap_ok(!mcast_joined());
	close_ends();
	child = fork();
	must(child >= 0);
	if (!child) {
		if (vt_open(&dev[1], vt_name_b(), v6 ? VT_IPV6 : VT_IPV4, -1))
			_exit(1);
		open_end(&b, &dev[1]);
		_exit(ibv_attach_mcast(b.qp, &net.gid, 0) || !mcast_joined());
	}
	must(waitpid(child, &result, 0) == child);
	ktap_eq(result, 0);
	/* The end of the process is the end of its membership. */
	ktap_ok(!mcast_joined());
}

/* A member that is no queue pair of ours. Return: its socket. */
static int join_socket(const union ibv_gid *gid, int ifindex)
{
	struct ipv6_mreq mreq6 = { .ipv6mr_interface = ifindex };
	struct ip_mreqn mreq = { .imr_ifindex = ifindex };
	int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);

	must(fd >= 0);
	memcpy(&mreq6.ipv6mr_multiaddr, gid->raw, 16);
	memcpy(&mreq.imr_multiaddr, gid->raw + 12, 4);
	must(!(v6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &mreq6,
			       sizeof(mreq6)) :
		    setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &mreq,
			       sizeof(mreq))));
	return fd;
}

static bool dummy_is_member(void)
{
	return !system(v6 ? "ip maddr show dev cairn_group | grep -qw ff15::1:2:9" :
			    "ip maddr show dev cairn_group | grep -qw 239.1.2.9");
}

/* With too small an MTU the netdev leaves IP, and its groups. A queue pair that leaves
 * such a group later does not end the membership of another.
 */
static void left_before(void)
{
	union ibv_gid gid = mcast_group("ff15::1:2:9", "239.1.2.9");
	struct vt_dev dev;
	struct vt_end end;
	int fd;

	must(!system("ip link add cairn_group type dummy && "
		     "ip link set cairn_group up && "
		     "ip addr add 10.79.0.1/24 dev cairn_group && "
		     "ip addr add fd79::1/64 dev cairn_group nodad && "
		     "rdma link add cairn_g type cairn netdev cairn_group"));
	must(!vt_open(&dev, "cairn_g", v6 ? VT_IPV6 : VT_IPV4, -1));
	open_end(&end, &dev);
	must(!ibv_attach_mcast(end.qp, &gid, 0));
	ktap_ok(dummy_is_member());
	must(!system("ip link set cairn_group mtu 60"));
	ktap_ok(!dummy_is_member());
	must(!system("ip link set cairn_group mtu 1500"));
	fd = join_socket(&gid, if_nametoindex("cairn_group"));
	ktap_ok(dummy_is_member());
	must(!ibv_detach_mcast(end.qp, &gid, 0));
	ktap_ok(dummy_is_member());
	close(fd);
	ktap_ok(!dummy_is_member());
	vt_end_destroy(&end);
	vt_close(&dev);
	must(!system("ip link delete cairn_group"));
}

static void mcast_refused(void)
{
	struct vt_opts opts = VT_OPTS;
	struct vt_end rc;

	open_ends();
	must(!vt_end_create(&rc, &dev[1], &opts, 4096) && !vt_to_init(&rc));
	ktap_eq(ibv_attach_mcast(rc.qp, &net.gid, 0), EINVAL);
	ktap_eq(ibv_attach_mcast(b.qp, &dev[1].gid, 0), EINVAL);
	ktap_eq(ibv_detach_mcast(b.qp, &net.gid, 0), EINVAL);
	must(!ibv_attach_mcast(b.qp, &net.gid, 0));
	ktap_eq(ibv_detach_mcast(c.qp, &net.gid, 0), EINVAL);
	ktap_eq(ibv_destroy_qp(b.qp), EBUSY);
	must(!ibv_detach_mcast(b.qp, &net.gid, 0));
	ktap_eq(ibv_detach_mcast(b.qp, &net.gid, 0), EINVAL);
	vt_end_destroy(&rc);
	close_ends();
}

/* As many groups as query_device reports, and no more. */
static void limit(void)
{
	struct ibv_device_attr attr;
	union ibv_gid gid;
	int i;

	open_ends();
	must(!ibv_query_device(dev[1].ctx, &attr) && attr.max_mcast_grp > 0);
	ktap_ok(attr.max_mcast_qp_attach > 0 &&
		attr.max_total_mcast_qp_attach > 0);
	gid = net.gid;
	for (i = 0; i < attr.max_mcast_grp; i++) {
		gid.raw[14] = (u8)(i >> 8);
		gid.raw[15] = (u8)i;
		must(!ibv_attach_mcast(b.qp, &gid, 0));
	}
	gid.raw[13] = 0x77;
	ktap_eq(ibv_attach_mcast(b.qp, &gid, 0), ENOMEM);
	gid.raw[13] = net.gid.raw[13];
	while (i--) {
		gid.raw[14] = (u8)(i >> 8);
		gid.raw[15] = (u8)i;
		must(!ibv_detach_mcast(b.qp, &gid, 0));
	}
	close_ends();
}

/* More members than receive a datagram in the soft interrupt: lanes serve the others. Each
 * member receives all datagrams, those of a train, too.
 */
static void many_members(void)
{
	static struct vt_end end[MEMBERS];
	int i, k;

	open_ends();
	for (i = 0; i < MEMBERS; i++) {
		open_end(&end[i], &dev[1]);
		for (k = 0; k < IN_A_ROW + 1; k++)
			post_recv(&end[i]);
		must(!ibv_attach_mcast(end[i].qp, &net.gid, 0));
	}
	post_row(&a, &net, 1, IN_A_ROW);
	for (i = 0; i < MEMBERS; i++)
		for (k = 1; k <= IN_A_ROW; k++)
			mcast_got(&end[i], &a, k);
	/* A member that left gets no later message; the others do. */
	must(!ibv_detach_mcast(end[0].qp, &net.gid, 0));
	send_to(&a, &net, QPN, 99, 1);
	for (i = 1; i < MEMBERS; i++)
		mcast_got(&end[i], &a, 99);
	ktap_ok(mcast_quiet(&end[0]));
	for (i = 0; i < MEMBERS; i++) {
		if (i)
			must(!ibv_detach_mcast(end[i].qp, &net.gid, 0));
		vt_end_destroy(&end[i]);
	}
	close_ends();
}

/* Most members get copies. A copy that cannot be made (faults.sh) is counted. */
static void copies_counted(void)
{
	const u64 overflows = vt_counter(&dev[1], "rx_overflow");
	static struct vt_end end_e[COPIED];
	u64 end = vt_now_ms() + LONG, n = 0;
	struct ibv_wc wc;
	int i, k;

	open_ends();
	for (i = 0; i < COPIED; i++) {
		open_end(&end_e[i], &dev[1]);
		for (k = 0; k < COPIES; k++)
			post_recv(&end_e[i]);
		must(!ibv_attach_mcast(end_e[i].qp, &net.gid, 0));
	}
	send_to(&a, &net, QPN, 1, COPIES);
	while (n + vt_counter(&dev[1], "rx_overflow") - overflows <
	       (u64)COPIED * COPIES && vt_now_ms() < end)
		for (i = 0; i < COPIED; i++)
			while (ibv_poll_cq(end_e[i].rcq, 1, &wc)) {
				must(!wc.status);
				n++;
			}
	ktap_eq(n + vt_counter(&dev[1], "rx_overflow") - overflows,
		COPIED * COPIES);
	for (i = 0; i < COPIED; i++) {
		must(!ibv_detach_mcast(end_e[i].qp, &net.gid, 0));
		vt_end_destroy(&end_e[i]);
	}
	close_ends();
}

#define TESTS(X) X(members) X(many_members) X(copies_counted) X(own_messages)	\
	X(not_for_us) X(membership) X(left_before) X(mcast_refused) X(limit)
VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	v6 = argc > 1 && !strcmp(argv[1], "6");
	return vt_run_on(&dev[0], &dev[1], v6 ? VT_IPV6 : VT_IPV4,
			 argc > 1 + v6 ? argv[1 + v6] : NULL);
}
