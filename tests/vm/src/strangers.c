// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A friend on CAIRN_A is connected to a victim on CAIRN_B, both in this network
 * namespace. A stranger on CAIRN_A knows all numbers of the connection, and connects
 * queue pairs of its own to one end of it. Another stranger has a UDP socket.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rxrpc.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#define SIZE		4096
#define MSG		64
#define LONG		vt_ms(20000)
#define SOON		vt_ms(300)
#define NOBODY		65534
#define ROCE_PORT	4791
#define ACK		0x11
#define UC_SEND_ONLY	0x24
#define RC_SEND_ONLY	0x04
#define UD_SEND_ONLY	0x64

static struct vt_dev da, db;
static struct vt_end friend, victim;

static void post_recv(struct vt_end *end, u64 id)
{
	struct ibv_sge sge = { (uintptr_t)end->buf + SIZE / 2, 2 * MSG, end->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	must(!ibv_post_recv(end->qp, &wr, &bad));
}

static void post_send(struct vt_end *end, const char *text)
{
	struct ibv_sge sge = { (uintptr_t)end->buf, MSG, end->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	strcpy((char *)end->buf, text);
	must(!ibv_post_send(end->qp, &wr, &bad));
}

static void strangers_connection(enum ibv_qp_type type)
{
	struct vt_opts opts = VT_OPTS;

	opts.type = type;
	must(!vt_end_create(&friend, &da, &opts, SIZE));
	must(!vt_end_create(&victim, &db, &opts, SIZE));
	must(!vt_connect(&friend, &victim));
}

static void strangers_disconnect(void)
{
	vt_end_destroy(&friend);
	vt_end_destroy(&victim);
}

/* A stranger on @dev connects to @to, with the PSNs of @as. */
static void strangers_pretend(struct vt_end *end, struct vt_dev *dev, enum ibv_qp_type type,
			      const struct vt_end *as, const struct vt_end *to)
{
	struct vt_opts opts = VT_OPTS;

	opts.type = type;
	opts.retry_cnt = 0;
	opts.timeout = 14;
	must(!vt_end_create(end, dev, &opts, SIZE));
	end->psn = as->psn;
	must(!vt_to_init(end) && !vt_to_rtr(end, to) && !vt_to_rts(end));
}

static void strangers_received(const char *text)
{
	struct ibv_wc wc;

	must(!vt_poll(victim.rcq, &wc, 1, LONG));
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	ktap_ok(!strcmp((char *)victim.buf + SIZE / 2, text));
}

/* The stranger's message is not delivered, and the friend's is not lost. */
static void send_of_a_stranger(enum ibv_qp_type type)
{
	u64 refused = vt_counter(&db, "rx_spoofed");
	struct vt_end evil;
	struct ibv_wc wc;

	strangers_connection(type);
	post_recv(&victim, 1);
	post_recv(&victim, 2);
	strangers_pretend(&evil, &da, type, &friend, &victim);
	post_send(&evil, "the stranger's");
	ktap_eq(vt_poll(victim.rcq, &wc, 1, SOON), ETIMEDOUT);
	post_send(&friend, "the friend's");
	strangers_received("the friend's");
	must(!vt_poll(friend.scq, &wc, 1, LONG));
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	ktap_ok(vt_counter(&db, "rx_spoofed") > refused);
	vt_end_destroy(&evil);
	strangers_disconnect();
}

static void request_on_rc(void)
{
	send_of_a_stranger(IBV_QPT_RC);
}

static void request_on_uc(void)
{
	send_of_a_stranger(IBV_QPT_UC);
}

/*
 * The stranger has two queue pairs: one is connected to the friend and answers there; the
 * other sends to the first one, which causes answers.
 */
static void answer_on_rc(void)
{
	struct vt_end asks, answers, as;
	struct ibv_wc wc;

	strangers_connection(IBV_QPT_RC);
	/* The first makes the friend's requests, with the same PSNs. */
	strangers_pretend(&answers, &db, IBV_QPT_RC, &victim, &friend);
	as = friend;
	strangers_pretend(&asks, &da, IBV_QPT_RC, &as, &answers);
	post_recv(&answers, 1);
	post_recv(&answers, 2);
	/* The victim has no receive: the SEND is repeated until it has one. */
	post_send(&friend, "the friend's");
	post_send(&asks, "the stranger's");
	ktap_eq(vt_poll(friend.scq, &wc, 1, SOON), ETIMEDOUT);
	post_recv(&victim, 1);
	strangers_received("the friend's");
	must(!vt_poll(friend.scq, &wc, 1, LONG));
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	vt_end_destroy(&asks);
	vt_end_destroy(&answers);
	strangers_disconnect();
}

/*
 * Packets by an ordinary socket, with ICRCs that are right.
 */
struct datagram {
	struct iphdr ip;
	struct udphdr udp;
	u8 data[256];
} __attribute__((packed));

static u32 crc32_le(u32 crc, const u8 *bytes, size_t len)
{
	int i;

	while (len--)
		for (crc ^= *bytes++, i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	return crc;
}

/* The ICRC covers the headers that the stack will write (IBTA annex A17.3.3). */
static void strangers_seal(struct datagram *datagram, u32 len)
{
	static const u8 ones[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };
	struct datagram masked = *datagram;
	u32 crc;

	masked.ip.tos = 0xff;
	masked.ip.ttl = 0xff;
	masked.ip.check = 0xffff;
	masked.udp.check = 0xffff;
	masked.data[4] = 0xff;
	crc = ~crc32_le(crc32_le(~0u, ones, 8), (u8 *)&masked, 28 + len);
	memcpy(datagram->data + len, &crc, 4);
}

static void strangers_put24(u8 *bytes, u32 v)
{
	bytes[0] = v >> 16;
	bytes[1] = v >> 8;
	bytes[2] = v;
}

/* A packet of @len bytes behind the BTH, from @from to @to. */
static void strangers_packet(struct datagram *datagram, u16 sport, u8 opcode, u32 qpn, u32 psn,
			     u32 len)
{
	u32 addr;

	memset(datagram, 0, sizeof(*datagram));
	memcpy(&addr, da.gid.raw + 12, 4);
	datagram->ip = (struct iphdr){
		.version = 4, .ihl = 5, .frag_off = htons(0x4000),
		.protocol = IPPROTO_UDP, .saddr = addr, .daddr = addr,
		.tot_len = htons(28 + 12 + len + 4),
	};
	datagram->udp = (struct udphdr){
		.source = htons(sport), .dest = htons(ROCE_PORT),
		.len = htons(8 + 12 + len + 4),
	};
	datagram->data[0] = opcode;
	datagram->data[1] = 0x40;
	datagram->data[2] = datagram->data[3] = 0xff;
	strangers_put24(datagram->data + 5, qpn);
	strangers_put24(datagram->data + 9, psn);
}

/* Send from a socket that a child opens as @uid. Return: its exit status, an errno. */
static int send_as(uid_t uid, struct datagram *datagram, u32 len)
{
	int pid, status, on = IP_PMTUDISC_DO, fd;
	struct sockaddr_in from = {
		.sin_family = AF_INET, .sin_port = datagram->udp.source,
		.sin_addr.s_addr = datagram->ip.saddr,
	}, to = {
		.sin_family = AF_INET, .sin_port = datagram->udp.dest,
		.sin_addr.s_addr = datagram->ip.daddr,
	};

	strangers_seal(datagram, 12 + len);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (uid && (setgid(uid) || setuid(uid)))
			_exit(100);
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		if (fd < 0 || bind(fd, (void *)&from, sizeof(from)) ||
		    setsockopt(fd, SOL_IP, IP_MTU_DISCOVER, &on, sizeof(on)))
			_exit(101);
		if (sendto(fd, datagram->data, 12 + len + 4, 0, (void *)&to,
			   sizeof(to)) < 0)
			_exit(errno);
		_exit(0);
	}
	must(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* A datagram of @uid arrives, or send() fails and a counter rises. */
static void is_taken(uid_t uid, struct datagram *datagram, u32 len)
{
	u64 refused = vt_counter(&da, "tx_spoofed");
	u64 packets = vt_counter(&da, "rx_packets");

	ktap_eq(send_as(uid, datagram, len), uid ? EPERM : 0);
	ktap_eq(vt_counter(&da, "tx_spoofed"), refused + !!uid);
	ktap_eq(vt_counter(&da, "rx_packets"), packets + !uid);
}

static void socket_to_uc(void)
{
	struct datagram datagram;
	struct ibv_wc wc;

	strangers_connection(IBV_QPT_UC);
	post_recv(&victim, 1);
	strangers_packet(&datagram, 0xc001, UC_SEND_ONLY, victim.qp->qp_num, 5, MSG);
	is_taken(NOBODY, &datagram, MSG);
	ktap_eq(vt_poll(victim.rcq, &wc, 1, SOON), ETIMEDOUT);
	/* The forgery is good: from a permitted socket it is executed. */
	is_taken(0, &datagram, MSG);
	ktap_eq(vt_poll(victim.rcq, &wc, 1, LONG), 0);
	strangers_disconnect();
}

static void socket_to_rc(void)
{
	struct datagram datagram;
	struct ibv_wc wc;

	strangers_connection(IBV_QPT_RC);
	post_recv(&victim, 1);
	strangers_packet(&datagram, 0xc001, RC_SEND_ONLY, victim.qp->qp_num, friend.psn, MSG);
	is_taken(NOBODY, &datagram, MSG);
	ktap_eq(vt_poll(victim.rcq, &wc, 1, SOON), ETIMEDOUT);
	strangers_disconnect();
	/* An ACK of a SEND for which the victim has no receive. */
	strangers_connection(IBV_QPT_RC);
	post_send(&friend, "the friend's");
	strangers_packet(&datagram, 0xc001, ACK, friend.qp->qp_num, friend.psn, 4);
	datagram.data[12] = 0x1f;
	datagram.data[15] = 1;
	is_taken(NOBODY, &datagram, 4);
	ktap_eq(vt_poll(friend.scq, &wc, 1, SOON), ETIMEDOUT);
	strangers_disconnect();
}

static void socket_to_datagrams(void)
{
	struct vt_opts opts = VT_OPTS;
	struct datagram datagram;
	struct ibv_wc wc;

	opts.type = IBV_QPT_UD;
	must(!vt_end_create(&victim, &db, &opts, SIZE));
	must(!vt_to_init(&victim) && !vt_to_rtr(&victim, &victim) &&
	     !vt_to_rts(&victim));
	post_recv(&victim, 1);
	strangers_packet(&datagram, 0xc001, UD_SEND_ONLY, victim.qp->qp_num, 0, 8 + MSG);
	memset(datagram.data + 12, 0x11, 4);
	strangers_put24(datagram.data + 17, 0x123456);
	is_taken(NOBODY, &datagram, 8 + MSG);
	ktap_eq(vt_poll(victim.rcq, &wc, 1, SOON), ETIMEDOUT);
	is_taken(0, &datagram, 8 + MSG);
	ktap_eq(vt_poll(victim.rcq, &wc, 1, LONG), 0);
	vt_end_destroy(&victim);
	/* Management: QP 1 and its privileged Q_Key. */
	strangers_packet(&datagram, 0xc001, UD_SEND_ONLY, 1, 0, 8 + 128);
	datagram.data[12] = 0x80;
	datagram.data[13] = 1;
	is_taken(NOBODY, &datagram, 8 + 128);
}

/* Ask @to for an RPC, from a child as @uid. The socket that sends the request is the
 * kernel's. Since 6.2 a thread of the kernel sends it, unless the child has closed its own
 * socket by then: the child keeps it until @refused datagrams were counted. Return: its exit
 * status, an errno.
 */
static int call_as(uid_t uid, struct sockaddr_rxrpc *to, u64 refused)
{
	char control[CMSG_SPACE(sizeof(long))] = {};
	struct iovec iov = { "request", 7 };
	struct msghdr msg = {
		.msg_name = to, .msg_namelen = sizeof(*to), .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *id = CMSG_FIRSTHDR(&msg);
	int pid, status, fd;

	*id = (struct cmsghdr){ CMSG_LEN(sizeof(long)), SOL_RXRPC, RXRPC_USER_CALL_ID };
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (setgid(uid) || setuid(uid))
			_exit(100);
		fd = socket(AF_RXRPC, SOCK_DGRAM, PF_INET);
		if (fd < 0 || sendmsg(fd, &msg, 0) < 0)
			_exit(errno);
		vt_counter_reaches(&da, "tx_spoofed", refused);
		_exit(0);
	}
	must(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* A process cannot have the kernel send to the RoCE port. The server of an RPC chooses
 * nearly all bytes of what its kernel socket sends.
 */
static void socket_of_rxrpc(void)
{
	u64 malformed = vt_counter(&da, "rx_malformed");
	u64 icrc = vt_counter(&da, "rx_icrc_errors");
	u64 refused = vt_counter(&da, "tx_spoofed");
	struct sockaddr_rxrpc to = {
		.srx_family = AF_RXRPC, .srx_service = 1, .transport_type = SOCK_DGRAM,
		.transport_len = sizeof(to.transport.sin),
		.transport.sin = { .sin_family = AF_INET, .sin_port = htons(ROCE_PORT) },
	};
	int err;

	memcpy(&to.transport.sin.sin_addr, da.gid.raw + 12, 4);
	err = call_as(NOBODY, &to, refused + 1);
	if (err == EAFNOSUPPORT) {
		ktap_skip("not in this kernel");
		return;
	}
	/* before 6.2 the request leaves within the call, which fails then */
	ktap_ok(!err || err == EPERM);
	ktap_ok(vt_counter_reaches(&da, "tx_spoofed", refused + 1) > refused);
	ktap_eq(vt_counter(&da, "rx_malformed"), malformed);
	ktap_eq(vt_counter(&da, "rx_icrc_errors"), icrc);
}

#define TESTS(X)							\
	X(request_on_rc) X(request_on_uc) X(answer_on_rc)		\
	X(socket_to_uc) X(socket_to_rc) X(socket_to_datagrams) X(socket_of_rxrpc)

VT_TESTS(TESTS)

/* "strangers on_" or "strangers socket"; "strangers on_ 6": over IPv6 */
int main(int argc, char **argv)
{
	return vt_run_on(&da, &db, argc > 2 ? VT_IPV6 : VT_IPV4, argc > 1 ? argv[1] : NULL);
}
