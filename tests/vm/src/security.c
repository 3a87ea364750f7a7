// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process may write anything to its own rings and mappings, and any sender may send to
 * UDP port 4791. Neither may harm another process. Runs as root where the first
 * device's netdev is; the caller checks the kernel log and other traffic.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <rdma/cairn-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include "vt.h"
#include "vt_test.h"

#define MAX_MAPS	4096
#define BUF		65536

static struct vt_dev da, db;

/* The mappings of the provider, in order. */
static struct map {
	u8 *addr;
	size_t len;
	int prot, fd;
	off_t off;
} maps[MAX_MAPS];
static unsigned int nmaps;
static off_t maps_end;	/* the end of all mappings so far */

/* The provider calls this. */
void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	void *mem = (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, off);

	if (fd >= 0 && flags & MAP_SHARED && mem != MAP_FAILED) {
		if (nmaps < MAX_MAPS)
			maps[nmaps++] = (struct map) { mem, len, prot, fd, off };
		if (off + (off_t)len > maps_end)
			maps_end = off + len;
	}
	return mem;
}

static bool can_map(int fd, size_t len, int prot, int flags, off_t off)
{
	void *mem = (void *)syscall(SYS_mmap, NULL, len, prot, flags, fd, off);

	if (mem == MAP_FAILED)
		return false;
	munmap(mem, len);
	return true;
}

/* --- mappings ----------------------------------------------------------- */

static struct vt_end one, two;

/* A connection whose mappings are maps[0] to maps[nmaps - 1]. */
static void connect_pair(void)
{
	struct vt_opts opts = VT_OPTS;

	nmaps = 0;
	must(!vt_end_create(&one, &da, &opts, BUF));
	/* only mappings of the hostile side are recorded */
	unsigned int n = nmaps;

	must(!vt_end_create(&two, &db, &opts, BUF));
	nmaps = n;
	must(n && !vt_connect(&one, &two));
}

static void security_disconnect(void)
{
	vt_end_destroy(&one);
	vt_end_destroy(&two);
}

static void map_again(void)
{
	unsigned int i;

	connect_pair();
	for (i = 0; i < nmaps; i++)
		ktap_ok(can_map(maps[i].fd, maps[i].len, maps[i].prot,
				MAP_SHARED, maps[i].off));
	security_disconnect();
}

static void map_beyond(void)
{
	unsigned int i;
	off_t end;

	connect_pair();
	/* pages that all queues share stay mapped from one connection to the next */
	end = maps_end;
	for (i = 0; i < nmaps; i++) {
		struct map *map = &maps[i];

		ktap_ok(!can_map(map->fd, map->len + 4096, PROT_READ, MAP_SHARED, map->off));
		ktap_ok(!can_map(map->fd, 1UL << 40, PROT_READ, MAP_SHARED, map->off));
		if (map->len > 4096) {
			ktap_ok(!can_map(map->fd, map->len - 4096, PROT_READ,
					 MAP_SHARED, map->off + 4096));
			ktap_ok(!can_map(map->fd, map->len, PROT_READ, MAP_SHARED,
					 map->off + 4096));
		}
		ktap_ok(mremap(map->addr, map->len, map->len + 4096, MREMAP_MAYMOVE) ==
			MAP_FAILED);
	}
	for (i = 0; i < 200; i++)
		ktap_ok(!can_map(maps[0].fd, 4096, PROT_READ, MAP_SHARED,
				 end + i * 4096L));
	for (i = 12; i < 63; i++)
		if (1L << i > end)
			ktap_ok(!can_map(maps[0].fd, 4096, PROT_READ, MAP_SHARED,
					 1L << i));
	security_disconnect();
}

static void map_read_only(void)
{
	unsigned int i, seen = 0;

	connect_pair();
	for (i = 0; i < nmaps; i++) {
		struct map *map = &maps[i];

		if (map->prot & PROT_WRITE)
			continue;
		seen++;
		ktap_ok(!can_map(map->fd, map->len, PROT_READ | PROT_WRITE,
				 MAP_SHARED, map->off));
		ktap_ok(!can_map(map->fd, map->len, PROT_WRITE, MAP_SHARED, map->off));
		ktap_ok(!can_map(map->fd, map->len, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE, map->off));
		ktap_ok(mprotect(map->addr, map->len, PROT_READ | PROT_WRITE));
	}
	ktap_ok(seen > 0);
	security_disconnect();
}

/* The offsets of one process are invalid in another. */
static void map_foreign(void)
{
	struct vt_dev other;
	unsigned int i;

	connect_pair();
	must(!vt_open(&other, vt_name_a(), VT_IPV4, -1));
	for (i = 0; i < nmaps; i++)
		ktap_ok(!can_map(other.ctx->cmd_fd, maps[i].len, PROT_READ,
				 MAP_SHARED, maps[i].off));
	vt_close(&other);
	security_disconnect();
}

/* Writes to a mapping that outlives its queue have no effect. */
static void keep_mapping(void)
{
	u8 *kept[MAX_MAPS];
	unsigned int i, n;

	connect_pair();
	for (i = 0, n = nmaps; i < n; i++)
		kept[i] = (u8 *)syscall(SYS_mmap, NULL, maps[i].len,
					maps[i].prot, MAP_SHARED, maps[i].fd,
					maps[i].off);
	security_disconnect();
	for (i = 0; i < n; i++) {
		must(kept[i] != MAP_FAILED);
		if (maps[i].prot & PROT_WRITE)
			memset(kept[i], 0xff, maps[i].len);
		munmap(kept[i], maps[i].len);
	}
}

/* --- doorbells ---------------------------------------------------------- */

/* @data: the data of the attribute, or the address of longer data */
static int security_ring(struct ibv_context *ctx, u64 data, u16 bytes)
{
	struct ib_uverbs_attr attr = {
		.attr_id = CAIRN_ATTR_DOORBELL, .len = bytes,
		.flags = UVERBS_ATTR_F_MANDATORY, .data = data,
	};

	return vt_method(ctx->cmd_fd, CAIRN_OBJECT_DEVICE, CAIRN_METHOD_DOORBELL, &attr, 1);
}

static int security_doorbell(struct ibv_context *ctx, u32 qid, u32 index)
{
	return security_ring(ctx, (u64)index << 32 | qid, sizeof(struct cairn_doorbell));
}

/* Lists: wrong entries do not stop the others from ringing. */
static void doorbell_lists(void)
{
	struct cairn_doorbell list[CAIRN_MAX_DOORBELLS + 1];
	u16 bytes = sizeof(list[0]);
	u64 rung;
	u32 qid;
	int i;

	connect_pair();
	for (qid = 0; security_doorbell(da.ctx, qid, 0); qid++)
		must(qid < 128);
	for (i = 0; i <= CAIRN_MAX_DOORBELLS; i++)
		list[i] = (struct cairn_doorbell){ .qid = qid };
	/* doorbells of other traffic count, too */
	rung = vt_counter(&da, "doorbells");
	ktap_eq(security_ring(da.ctx, (uintptr_t)list, CAIRN_MAX_DOORBELLS * bytes), 0);
	rung += CAIRN_MAX_DOORBELLS;
	ktap_ok(vt_counter_reaches(&da, "doorbells", rung) >= rung);
	list[3].qid = ~0u;
	rung = vt_counter(&da, "doorbells");
	ktap_eq(security_ring(da.ctx, (uintptr_t)list, CAIRN_MAX_DOORBELLS * bytes),
		ENOENT);
	rung += CAIRN_MAX_DOORBELLS - 1;
	ktap_ok(vt_counter_reaches(&da, "doorbells", rung) >= rung);
	/* too long, not a multiple, empty, unreadable */
	ktap_ok(security_ring(da.ctx, (uintptr_t)list, sizeof(list)));
	ktap_eq(security_ring(da.ctx, (uintptr_t)list, 2 * bytes - 1), EINVAL);
	ktap_ok(security_ring(da.ctx, 0, 0));
	ktap_eq(security_ring(da.ctx, 8, 2 * bytes), EFAULT);
	security_disconnect();
}

static void doorbells(void)
{
	int i, good = 0;
	u32 qid;

	connect_pair();
	for (qid = 0; qid < 128; qid++)
		good += !security_doorbell(da.ctx, qid, 0);
	ktap_diag("%d queues have doorbells", good);
	ktap_ok(good >= 1 && good <= 2);
	for (qid = 0; qid < 128; qid++)
		ktap_ok(security_doorbell(da.ctx, qid, 0x40000000));
	for (i = 0; i < 200; i++)
		ktap_ok(security_doorbell(da.ctx, 1000 + ktap_rand_below(~0u - 1000),
					  ktap_rand()));
	ktap_eq(security_doorbell(da.ctx, CAIRN_DOORBELL_ALL, ~0u), EINVAL);
	ktap_eq(security_doorbell(da.ctx, CAIRN_DOORBELL_ALL, 0), 0);
	/* garbage in place of the command */
	for (i = 0; i < 2000; i++) {
		u32 words[16];
		struct ib_uverbs_ioctl_hdr *hdr = (void *)words;

		ktap_rand_fill(words, sizeof(words));
		hdr->length = ktap_rand_below(80);
		hdr->object_id = CAIRN_OBJECT_DEVICE + ktap_rand_below(2);
		hdr->method_id = CAIRN_METHOD_DOORBELL + ktap_rand_below(5);
		hdr->num_attrs = ktap_rand_below(4);
		hdr->driver_id = CAIRN_DRIVER_ID;
		hdr->reserved1 = 0;
		hdr->reserved2 = 0;
		ioctl(da.ctx->cmd_fd, RDMA_VERBS_IOCTL, words);
	}
	security_disconnect();
}

/* --- rings -------------------------------------------------------------- */

/* Random words all over the memory that the process may write. */
static void scribble(void)
{
	unsigned int round, i, k;
	struct ibv_wc wc;

	for (round = 0; round < 40; round++) {
		connect_pair();
		for (i = 0; i < nmaps; i++) {
			struct map *map = &maps[i];

			if (!(map->prot & PROT_WRITE))
				continue;
			for (k = 0; k < 2000; k++)
				((u32 *)map->addr)[ktap_rand_below(map->len / 4)] =
					ktap_rand_below(3) ? ktap_rand() :
							     ktap_rand_below(70);
			for (k = 0; k < 8; k++)
				security_doorbell(da.ctx, ktap_rand_below(8), k);
			security_doorbell(da.ctx, CAIRN_DOORBELL_ALL, 0);
		}
		/* two sends to it, so that receives are consumed */
		for (k = 0; k < 4; k++) {
			struct ibv_sge sge = { (uintptr_t)two.buf, 100, two.mr->lkey };
			struct ibv_send_wr wr = {
				.sg_list = &sge, .num_sge = 1,
				.opcode = IBV_WR_SEND,
			}, *bad;

			ibv_post_send(two.qp, &wr, &bad);
		}
		usleep(2000);
		for (k = 0; k < 8; k++)
			ibv_poll_cq(one.scq, 1, &wc);
		security_disconnect();
	}
}

/* Connect with a new context, which makes all mappings in the same order. */
static void connect_anew(void)
{
	vt_close(&da);
	must(!vt_open(&da, vt_name_a(), VT_IPV4, -1));
	connect_pair();
}

/* Polls the queue pair of the misbehaving process, or makes another. */
static void poll_or_renew(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(one.scq, 1, &wc) > 0)
		;
	if (vt_state(one.qp) == IBV_QPS_RTS)
		return;
	security_disconnect();
	connect_anew();
}

/* The same place of mapping number @i, after a new connection. */
static u8 *security_writable(unsigned int i, size_t at)
{
	if (i >= nmaps || at >= maps[i].len || !(maps[i].prot & PROT_WRITE))
		return NULL;
	return maps[i].addr + at;
}

/*
 * Write to every byte that the process may write: queue info of space 3, ready pages,
 * rings. Ring and post after each, so that the device reads it.
 */
static void every_byte(void)
{
	static const u8 values[] = { 0xff, 0x00, 0x80, 0x01 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	unsigned int i, k, lines = 0;
	size_t at;
	u8 *bytes;

	connect_anew();
	for (i = 0; i < nmaps; i++) {
		for (at = 0; security_writable(i, at); at++) {
			/* all of a page of pointers, the first KiB of a ring */
			if (maps[i].len > 4096 && at == 1024)
				break;
			for (k = 0; k < 4; k++) {
				bytes = security_writable(i, at);
				if (!bytes)
					break;
				*(volatile u8 *)bytes = values[k];
			}
			security_doorbell(da.ctx, at % 8, at / 64);
			if (at % 64 != 63)
				continue;
			ibv_post_send(one.qp, &wr, &bad);
			poll_or_renew();
			lines++;
		}
	}
	ktap_diag("%u lines of 64 bytes", lines);
	/* two pages and two rings */
	ktap_ok(lines >= 2 * 64 + 2 * 16);
	security_disconnect();
}

static sigjmp_buf faulted;

static void on_fault(int sig)
{
	siglongjmp(faulted, sig);
}

static bool store_faults(volatile u32 *p)
{
	if (sigsetjmp(faulted, 1))
		return true;
	*p = 1;
	return false;
}

/* Space 1, wake-up flags and completion rings: a store ends in a signal. */
static void store_read_only(void)
{
	struct sigaction act = { .sa_handler = on_fault }, old;
	unsigned int i, seen = 0;

	connect_pair();
	must(!sigaction(SIGSEGV, &act, &old));
	for (i = 0; i < nmaps; i++) {
		if (maps[i].prot & PROT_WRITE)
			continue;
		seen++;
		ktap_ok(store_faults((u32 *)maps[i].addr));
	}
	sigaction(SIGSEGV, &old, NULL);
	ktap_ok(seen >= 3);
	security_disconnect();
}

/* Where a WQE that was just posted lies, and the queue's id. */
static struct cairn_send_wqe *find_ring(u32 *qid, u32 *depth,
					struct cairn_qinfo_host **host)
{
	u32 before[MAX_MAPS / 64][64] = {};
	struct cairn_send_wqe *ring = NULL;
	struct ibv_send_wr wr = {
		.wr_id = 0x5ca1ab1e5eed5eedULL, .opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { (uintptr_t)two.buf, two.mr->rkey },
	}, *bad;
	unsigned int i, k;

	for (i = 0; i < nmaps && i < 64; i++)
		for (k = 0; maps[i].prot & PROT_WRITE && k < 64; k++)
			before[i][k] = *(u32 *)(maps[i].addr + 64 * k);
	*host = NULL;
	must(!ibv_post_send(one.qp, &wr, &bad));
	for (i = 0; i < nmaps && i < 64; i++) {
		struct map *map = &maps[i];

		if (!(map->prot & PROT_WRITE))
			continue;
		if (!memcmp(map->addr, &wr.wr_id, 8)) {
			ring = (void *)map->addr;
			*depth = map->len / 64;
			continue;
		}
		for (k = 0; k < 64; k++)
			if (*(u32 *)(map->addr + 64 * k) == before[i][k] + 1) {
				*host = (void *)(map->addr + 64 * k);
				*qid = k;
			}
	}
	return ring;
}

static u64 some_address(void)
{
	switch (ktap_rand_below(5)) {
	case 0: return (uintptr_t)one.buf + ktap_rand_below(BUF);
	case 1: return (uintptr_t)two.buf + ktap_rand_below(BUF);
	case 2: return 0xffff888000000000ULL + ktap_rand_below(1 << 30);
	case 3: return ~0ULL - ktap_rand_below(5000);
	default: return ktap_rand();
	}
}

static u32 some_key(void)
{
	switch (ktap_rand_below(4)) {
	case 0: return one.mr->lkey;
	case 1: return two.mr->rkey;
	case 2: return 0;
	default: return ktap_rand();
	}
}

static u32 some_length(void)
{
	return ktap_rand_below(4) ? ktap_rand_below(9000) : (u32)ktap_rand();
}

static void random_wqe(struct cairn_send_wqe *wqe)
{
	unsigned int i;

	ktap_rand_fill(wqe, sizeof(*wqe));
	wqe->opcode = ktap_rand_below(8) ? ktap_rand_below(13) : ktap_rand();
	wqe->flags = ktap_rand_below(8) ? ktap_rand_below(16) : ktap_rand();
	wqe->num_sge = ktap_rand_below(8) ? ktap_rand_below(3) : ktap_rand();
	wqe->units = ktap_rand_below(8) ? 1 : ktap_rand();
	wqe->inline_len = ktap_rand_below(4) ? ktap_rand_below(40) : some_length();
	wqe->imm_or_key = some_key();
	wqe->remote_addr = some_address();
	wqe->rkey = some_key();
	for (i = 0; i < 2; i++)
		wqe->sge[i] = (struct cairn_sge) {
			some_address(), some_length(), some_key()
		};
}

/* Plausible nonsense, which passes more checks than noise. */
static void wqe_fuzz(void)
{
	struct cairn_qinfo_host *host;
	struct cairn_send_wqe *ring;
	unsigned int round, k;
	u32 qid, depth = 0;
	struct ibv_wc wc;

	for (round = 0; round < 80; round++) {
		connect_pair();
		for (k = 0; k < 4; k++) {
			struct ibv_sge sge = { (uintptr_t)two.buf, 4096, two.mr->lkey };
			struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

			must(!ibv_post_recv(two.qp, &wr, &bad));
		}
		ring = find_ring(&qid, &depth, &host);
		must(ring && host);
		for (k = 0; k < 16; k++) {
			u32 at = host->index + (ktap_rand_below(20) ? 0 : ktap_rand());

			random_wqe(&ring[at & (depth - 1)]);
			__atomic_store_n(&host->index, at + 1, __ATOMIC_RELEASE);
			security_doorbell(da.ctx, qid, at + 1);
			/* changed while the device reads it */
			random_wqe(&ring[at & (depth - 1)]);
			while (ibv_poll_cq(one.scq, 1, &wc) > 0)
				;
		}
		usleep(500);
		security_disconnect();
	}
}

/* Armed for each completion and never read: the kernel keeps 64 events, and when
 * they are read the next ones come.
 */
static void unread_events(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	struct ibv_wc wc;
	int i, n = 0;

	opts.channel = true;
	must(!vt_end_create(&one, &da, &opts, BUF));
	must(!vt_end_create(&two, &db, &opts, BUF) && !vt_connect(&one, &two));
	sge = (struct ibv_sge) { (uintptr_t)one.buf, 8, one.mr->lkey };
	wr = (struct ibv_send_wr) {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)two.buf, two.mr->rkey },
	};
	for (i = 0; i < 300; i++) {
		must(!ibv_req_notify_cq(one.scq, 0));
		must(!ibv_post_send(one.qp, &wr, &bad));
		must(!vt_poll(one.scq, &wc, 1, 10000));
	}
	while (vt_event(one.schan, n < 60 ? 10000 : 0))
		n++;
	ktap_diag("%d events for 300 completions", n);
	ktap_ok(n >= 60 && n <= 68);
	for (i = 0; i < 3; i++) {
		must(!ibv_req_notify_cq(one.scq, 0));
		must(!ibv_post_send(one.qp, &wr, &bad));
		ktap_ok(vt_event(one.schan, 10000));
		must(!vt_poll(one.scq, &wc, 1, 10000));
	}
	ktap_ok(!vt_event(one.schan, 0));
	security_disconnect();
}

/* Each call makes an event that is not read. The kernel keeps 64 of an object, and when
 * they are read the next one comes.
 */
static void unread_async_events(void)
{
	struct ibv_srq_init_attr init = { .attr = { 16, 1, 0 } };
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_srq *srq = ibv_create_srq(da.pd, &init);
	u64 before = vt_counter(&da, "async_events_withheld");
	int i, n = 0;

	must(srq);
	for (i = 0; i < 10000; i++) {
		must(!ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
		if (!(i % 100) && vt_counter(&da, "async_events_withheld") > before)
			break;
	}
	ktap_diag("%d calls", i);
	while (vt_async(&da, IBV_EVENT_SRQ_LIMIT_REACHED, n < 64 ? 10000 : 0))
		n++;
	ktap_eq(n, 64);
	ktap_ok(vt_counter(&da, "async_events_withheld") > before);
	must(!ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	ktap_ok(vt_async(&da, IBV_EVENT_SRQ_LIMIT_REACHED, 10000));
	ibv_destroy_srq(srq);
}

/* The process writes the completion queue's read pointer and arming, too. */
static void cq_pointers(void)
{
	struct ibv_sge sge;
	unsigned int round, i, k;

	for (round = 0; round < 20; round++) {
		connect_pair();
		sge = (struct ibv_sge) { (uintptr_t)one.buf, 64, one.mr->lkey };
		for (k = 0; k < 30; k++) {
			struct ibv_send_wr wr = {
				.sg_list = &sge, .num_sge = 1,
				.opcode = IBV_WR_RDMA_WRITE,
				.send_flags = IBV_SEND_SIGNALED,
				.wr.rdma = { (uintptr_t)two.buf, two.mr->rkey },
			}, *bad;

			ibv_post_send(one.qp, &wr, &bad);
			for (i = 0; i < nmaps; i++)
				if (maps[i].prot & PROT_WRITE && maps[i].len == 4096)
					((u32 *)maps[i].addr)[16 * ktap_rand_below(8) +
							      ktap_rand_below(2)] ^=
						1u << ktap_rand_below(32);
		}
		security_disconnect();
	}
}

static struct cairn_qinfo_host *host_page;

/* Find the page of space 3: at first the rings are larger. */
static void find_host_page(void)
{
	unsigned int i;

	host_page = NULL;
	for (i = 0; i < nmaps; i++)
		if (maps[i].prot & PROT_WRITE && maps[i].len == 4096)
			host_page = (void *)maps[i].addr;
	must(host_page);
}

static void flip_pointers(u32 bits)
{
	unsigned int k;

	for (k = 0; k < CAIRN_QINFO_PER_CHUNK; k++)
		host_page[k].index ^= bits;
}

static int resize_qp(u32 send_wr, u32 recv_wr)
{
	struct ibv_qp_attr attr = {
		.cap = { .max_send_wr = send_wr, .max_recv_wr = recv_wr },
	};

	return ibv_modify_qp(one.qp, &attr, IBV_QP_CAP);
}

/* The number of outstanding requests is impossible: the ring is not changed. */
static void resize_impossible(void)
{
	static const u32 bits[] = { 1u << 31, 1u << 20, 1u << 12 };
	unsigned int i;

	connect_pair();
	find_host_page();
	for (i = 0; i < 3; i++) {
		flip_pointers(bits[i]);
		ktap_eq(resize_qp(256, 0), EINVAL);
		ktap_eq(resize_qp(0, 256), EINVAL);
		ktap_eq(ibv_resize_cq(one.scq, 1024), EINVAL);
		flip_pointers(bits[i]);
	}
	ktap_eq(resize_qp(256, 256), 0);
	ktap_eq(ibv_resize_cq(one.scq, 1024), 0);
	security_disconnect();
}

static volatile bool scribbling;

static void *security_scribbler(void *arg)
{
	unsigned int rand = 1;

	while (scribbling)
		flip_pointers(1u << rand_r(&rand) % 32);
	return arg;
}

/* The pointers change all the time while rings are replaced. */
static void resize_race(void)
{
	unsigned int round, i, good = 0;
	pthread_t thread;

	for (round = 0; round < 10; round++) {
		connect_pair();
		find_host_page();
		scribbling = true;
		must(!pthread_create(&thread, NULL, security_scribbler, NULL));
		for (i = 0; i < 10; i++) {
			good += !resize_qp(1u << ktap_rand_below(10),
					   1u << ktap_rand_below(10));
			ibv_resize_cq(one.scq, 1u << ktap_rand_below(10));
		}
		scribbling = false;
		pthread_join(thread, NULL);
		security_disconnect();
	}
	ktap_diag("%u of 100 were done", good);
}

/* A thread that has the device serve all queues of its context, posted to or not. */
struct ringer {
	pthread_t thread;
	struct ibv_context *ctx;
	unsigned int pages;		/* maps[0] to maps[pages - 1] are marked */
	bool stop;
};

static void *security_ring_all(void *arg)
{
	struct ringer *ringer = arg;
	unsigned int i;

	while (!__atomic_load_n(&ringer->stop, __ATOMIC_RELAXED)) {
		for (i = 0; i < ringer->pages; i++)
			if (maps[i].prot & PROT_WRITE)
				memset(maps[i].addr, 0xff, maps[i].len);
		security_doorbell(ringer->ctx, CAIRN_DOORBELL_ALL, 0);
	}
	return arg;
}

/* Queue pairs come and go while the doorbell for all posts takes them from the map. */
static void doorbell_for_all(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ringer ringer = {};
	struct vt_end first, end;
	struct vt_dev own;
	int i;

	nmaps = 0;
	/* a context of its own, so that its ready map is among the mappings */
	must(!vt_open(&own, da.name, VT_IPV4, -1));
	must(!vt_end_create(&first, &own, &opts, BUF));
	ringer.ctx = own.ctx;
	ringer.pages = nmaps;
	must(!pthread_create(&ringer.thread, NULL, security_ring_all, &ringer));
	for (i = 0; i < 200; i++) {
		if (!ktap_eq(vt_end_create(&end, &own, &opts, BUF), 0))
			break;
		vt_end_destroy(&end);
	}
	__atomic_store_n(&ringer.stop, true, __ATOMIC_RELAXED);
	pthread_join(ringer.thread, NULL);
	vt_end_destroy(&first);
	vt_close(&own);
}

/* --- packets ------------------------------------------------------------ */

static u32 crc_table[256];

static void fill_crc_table(void)
{
	u32 i, k;

	for (i = 0; i < 256; i++) {
		crc_table[i] = i;
		for (k = 0; k < 8; k++)
			crc_table[i] = crc_table[i] >> 1 ^
				       (crc_table[i] & 1 ? 0xedb88320 : 0);
	}
}

static u32 crc32_le(u32 crc, const u8 *bytes, size_t len)
{
	while (len--)
		crc = crc >> 8 ^ crc_table[(crc ^ *bytes++) & 0xff];
	return crc;
}

struct frame {
	u8 ip[20];
	u8 udp[8];
	u8 data[8900];		/* from BTH on */
};

static int raw_fd = -1;

static void security_put16(u8 *bytes, u32 v)
{
	bytes[0] = v >> 8;
	bytes[1] = v;
}

/* Send @len bytes of the frame; the last four become the ICRC. */
static void send_frame(struct frame *frame, size_t len, bool good)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct frame masked;
	u32 crc;

	memset(frame->ip, 0, 28);
	frame->ip[0] = 0x45;
	security_put16(frame->ip + 2, 28 + len);
	security_put16(frame->ip + 4, 1 + ktap_rand_below(65535));
	frame->ip[8] = 64;
	frame->ip[9] = IPPROTO_UDP;
	memcpy(frame->ip + 12, da.gid.raw + 12, 4);
	memcpy(frame->ip + 16, db.gid.raw + 12, 4);
	security_put16(frame->udp, 49152);
	security_put16(frame->udp + 2, 4791);
	security_put16(frame->udp + 4, 8 + len);
	if (len >= 16) {
		/* IBTA Annex A17.3.3: variant fields count as ones */
		masked = *frame;
		masked.ip[1] = 0xff;
		masked.ip[8] = 0xff;
		memset(masked.ip + 10, 0xff, 2);
		memset(masked.udp + 6, 0xff, 2);
		masked.data[4] = 0xff;
		crc = crc32_le(~0u, (const u8 *)"\xff\xff\xff\xff\xff\xff\xff\xff", 8);
		crc = ~crc32_le(crc, (u8 *)&masked, 28 + len - 4);
		if (!good)
			crc ^= 1u << ktap_rand_below(32);
		memcpy(frame->data + len - 4, &crc, 4);
	}
	memcpy(&to.sin_addr, frame->ip + 16, 4);
	sendto(raw_fd, frame, 28 + len, 0, (struct sockaddr *)&to, sizeof(to));
}

/* A counter of the second device. */
static u64 security_counter(const char *name)
{
	return vt_counter_of(vt_name_b(), name);
}

/* The counter must rise by exactly @by. */
static void security_rises(const char *name, u64 from, u64 by)
{
	u64 end = vt_now_ms() + vt_ms(5000);

	while (security_counter(name) < from + by && vt_now_ms() < end)
		;
	if (security_counter(name) - from != by)
		ktap_fail("%s rose by %llu, not %llu", name,
			  security_counter(name) - from, by);
}

static void security_bth(struct frame *frame, u8 opcode, u32 qpn, u32 psn)
{
	u8 *bytes = frame->data;

	memset(bytes, 0, 64);
	bytes[0] = opcode;
	bytes[1] = 0x40;
	security_put16(bytes + 2, 0xffff);
	bytes[5] = qpn >> 16;
	security_put16(bytes + 6, qpn);
	bytes[9] = psn >> 16;
	security_put16(bytes + 10, psn);
}

static void packets_wrong_icrc(void)
{
	u64 before = security_counter("rx_icrc_errors");
	struct frame frame;
	int i;

	connect_pair();
	for (i = 0; i < 100; i++) {
		security_bth(&frame, 0x04, two.qp->qp_num, two.psn);
		ktap_rand_fill(frame.data + 12, 256);
		send_frame(&frame, 12 + 4 * (1 + ktap_rand_below(60)) + 4, false);
	}
	security_rises("rx_icrc_errors", before, 100);
	ktap_eq(vt_state(two.qp), IBV_QPS_RTS);
	security_disconnect();
}

/* The port shows it as well, for programs that query it. */
static void packets_wrong_pkey(void)
{
	u64 before = security_counter("rx_pkey_errors");
	struct ibv_port_attr then, now;
	struct frame frame;
	int i;

	connect_pair();
	must(!ibv_query_port(db.ctx, 1, &then));
	for (i = 0; i < 20; i++) {
		security_bth(&frame, 0x04, two.qp->qp_num, two.psn);
		security_put16(frame.data + 2, 0x1234);
		send_frame(&frame, 12 + 16 + 4, true);
	}
	security_rises("rx_pkey_errors", before, 20);
	must(!ibv_query_port(db.ctx, 1, &now));
	ktap_eq(now.bad_pkey_cntr - then.bad_pkey_cntr, 20);
	ktap_eq(vt_state(two.qp), IBV_QPS_RTS);
	security_disconnect();
}

/* An ACK and a CNP for a queue pair that has no connection. */
static void responses_for_datagrams(void)
{
	u64 before = security_counter("rx_wrong_qp");
	struct vt_opts opts = VT_OPTS;
	struct vt_end ud;
	struct frame frame;
	int i;

	opts.type = IBV_QPT_UD;
	must(!vt_end_create(&ud, &db, &opts, 4096));
	must(!vt_to_init(&ud) && !vt_to_rtr(&ud, &ud) && !vt_to_rts(&ud));
	for (i = 0; i < 20; i++) {
		security_bth(&frame, i & 1 ? 0x11 : 0x81, ud.qp->qp_num, 0);
		send_frame(&frame, i & 1 ? 12 + 4 + 4 : 12 + 16 + 4, true);
	}
	security_rises("rx_wrong_qp", before, 20);
	vt_end_destroy(&ud);
}

static void packets_for_nobody(void)
{
	u64 before = security_counter("rx_no_qp");
	struct frame frame;
	int i;

	for (i = 0; i < 50; i++) {
		security_bth(&frame, 0x04, 0xfffff0 - i, 0);
		send_frame(&frame, 12 + 16 + 4, true);
	}
	security_rises("rx_no_qp", before, 50);
}

static void packets_malformed(void)
{
	u64 before = security_counter("rx_malformed");
	u32 len, n = 0;
	struct frame frame;
	int op;

	/* too short for BTH and ICRC */
	for (len = 0; len < 16; len++, n++) {
		security_bth(&frame, 0x04, 2, 0);
		send_frame(&frame, len, true);
	}
	/* transport version 1 */
	security_bth(&frame, 0x04, 2, 0);
	frame.data[1] |= 1;
	send_frame(&frame, 32, true);
	n++;
	/* unknown opcodes (RD and reserved) */
	for (op = 0x18; op < 0x20; op++) {
		if (op == 0x1c || op == 0x1d)
			continue;
		security_bth(&frame, op, 2, 0);
		send_frame(&frame, 64, true);
		n++;
	}
	for (op = 0x40; op < 0x60; op++, n++) {
		security_bth(&frame, op, 2, 0);
		send_frame(&frame, 64, true);
	}
	/* FLUSH with a payload, FLUSH and ATOMIC WRITE without room for headers */
	security_bth(&frame, 0x1c, 2, 0);
	send_frame(&frame, 64, true);
	security_bth(&frame, 0x1c, 2, 0);
	send_frame(&frame, 12 + 19 + 4, true);
	security_bth(&frame, 0x1d, 2, 0);
	send_frame(&frame, 12 + 15 + 4, true);
	n += 3;
	/* WRITE ONLY and atomic without room for their headers */
	security_bth(&frame, 0x0a, 2, 0);
	send_frame(&frame, 12 + 15 + 4, true);
	security_bth(&frame, 0x13, 2, 0);
	send_frame(&frame, 12 + 24 + 4, true);
	n += 2;
	/* more pad than payload */
	security_bth(&frame, 0x04, 2, 0);
	frame.data[1] |= 0x30;
	send_frame(&frame, 12 + 4, true);
	n++;
	security_rises("rx_malformed", before, n);
}

static void packets_random(void)
{
	u64 before = security_counter("rx_malformed") + security_counter("rx_icrc_errors");
	u64 end = vt_now_ms() + vt_ms(5000);
	u32 i, len, n = 500;
	struct frame frame;

	for (i = 0; i < n; i++) {
		len = ktap_rand_below(2100);
		ktap_rand_fill(frame.data, len);
		send_frame(&frame, len, false);
	}
	while (security_counter("rx_malformed") + security_counter("rx_icrc_errors") < before + n &&
	       vt_now_ms() < end)
		usleep(20000);
	ktap_eq(security_counter("rx_malformed") + security_counter("rx_icrc_errors") - before, n);
}

/* Packets that pass every check of form, to QPs that exist for this. */
static void packets_forged(void)
{
	struct frame frame;
	u32 qpn, len;
	int i;

	connect_pair();
	for (i = 0; i < 2000; i++) {
		if (i % 100 == 99) {
			security_disconnect();
			connect_pair();
		}
		qpn = ktap_rand_below(2) ? two.qp->qp_num : ktap_rand_below(3);
		security_bth(&frame, ktap_rand_below(0x18) | (ktap_rand_below(8) ? 0 : 0xc0),
			     qpn, two.psn + ktap_rand_below(4) - 1);
		if (!ktap_rand_below(4))
			frame.data[0] = 0x20 + ktap_rand_below(0x46);
		if (!ktap_rand_below(8))
			frame.data[1] = ktap_rand();
		frame.data[8] = ktap_rand_below(2) << 7;
		len = 12 + 4 * ktap_rand_below(300);
		ktap_rand_fill(frame.data + 12, len);
		if (ktap_rand_below(2)) {
			u64 va = htobe64((uintptr_t)two.buf + ktap_rand_below(BUF));
			u32 key = htonl(two.mr->rkey);

			memcpy(frame.data + 12, &va, 8);
			memcpy(frame.data + 20, &key, 4);
			security_put16(frame.data + 24, 0);
		}
		send_frame(&frame, len + 4, true);
	}
	usleep(20000);
	security_disconnect();
}

#define AHEAD_QPS	6
#define AHEAD_PACKETS	110	/* for a queue pair: less than its own bound */
#define AHEAD_BYTES	8800	/* keeping one takes nearly twice as much */

static struct vt_end near[AHEAD_QPS], far[AHEAD_QPS];

/* Time to send the packets of one attempt. They are kept for half a second. */
static u64 ahead_ms;

/* Send packets ahead of far[@end]'s PSN: no packet has told their port. */
static void send_ahead(int end, int n)
{
	struct frame frame;
	int i;

	for (i = 0; i < n; i++) {
		security_bth(&frame, 0x04, far[end].qp->qp_num, near[end].psn + 2 + i);
		send_frame(&frame, 12 + AHEAD_BYTES + 4, true);
	}
}

/* Send from @from ends. Return: the number of packets not kept. Others are kept for half a
 * second, so the counter is read after all were sent.
 */
static u64 keep_ahead(int from, int packets)
{
	u64 full = security_counter("rx_held_full"), held = security_counter("rx_held");
	u64 begin_ms = vt_now_ms(), end_ms = begin_ms + vt_ms(5000), n = 0;
	u64 now_full, now_held;
	int i;

	for (i = from; i < AHEAD_QPS; i++, n += packets)
		send_ahead(i, packets);
	ahead_ms = vt_now_ms() - begin_ms;
	do {
		now_full = security_counter("rx_held_full") - full;
		now_held = security_counter("rx_held") - held;
	} while (now_full + now_held < n && vt_now_ms() < end_ms);
	ktap_diag("%llu kept, %llu not", now_held, now_full);
	ktap_eq(now_held + now_full, n);
	return now_full;
}

/* Some packets for the ends from @from on are beyond a bound, and room comes back with
 * time.
 */
static void ahead_is_bounded(int from)
{
	u64 full = 0, quickest_ms = ~0ull;
	int i;

	/* a busy machine may take longer than that */
	for (i = 0; i < 10 && !full; i++) {
		full = keep_ahead(from, AHEAD_PACKETS);
		if (ahead_ms < quickest_ms)
			quickest_ms = ahead_ms;
		sleep(1);
	}
	if (!full && quickest_ms > 300)
		ktap_skip("too slow: kept packets expire meanwhile");
	else
		ktap_ok(full > 0);
	ktap_eq(keep_ahead(AHEAD_QPS - 1, 50), 0);
}

static void ahead_connect(void)
{
	struct vt_opts opts = VT_OPTS;
	int i;

	for (i = 0; i < AHEAD_QPS; i++) {
		must(!vt_end_create(&near[i], &da, &opts, BUF));
		must(!vt_end_create(&far[i], &db, &opts, BUF));
		must(!vt_connect(&near[i], &far[i]));
	}
}

static void ahead_disconnect(void)
{
	int i;

	for (i = 0; i < AHEAD_QPS; i++) {
		ktap_eq(vt_state(far[i].qp), IBV_QPS_RTS);
		vt_end_destroy(&near[i]);
		vt_end_destroy(&far[i]);
	}
}

/* Kept packets of one address have a bound. */
static void packets_ahead_are_bounded(void)
{
	ahead_connect();
	ahead_is_bounded(0);
	ahead_disconnect();
}

/* Others leave this of the 64 MiB of a device: more than the packets for two ends take. */
#define AHEAD_LEFT	(5 << 20)

/* A user keeps half of what others leave, and another one finds the rest. */
static void packets_ahead_have_shares(void)
{
	int others = (64 << 20) - AHEAD_LEFT;

	if (!vt_can_take()) {
		ktap_skip("no module that counts bytes");
		return;
	}
	ahead_connect();
	ktap_eq(keep_ahead(AHEAD_QPS - 2, AHEAD_PACKETS), 0);
	sleep(1);
	vt_take(vt_name_b(), "kept", others);
	ahead_is_bounded(AHEAD_QPS - 2);
	vt_take(vt_name_b(), "kept", -others);
	ahead_disconnect();
}

/* One message from near[0] to far[0]. */
static void send_near(u32 tag)
{
	struct ibv_sge to = { (uintptr_t)far[0].buf, 64, far[0].mr->lkey };
	struct ibv_sge from = { (uintptr_t)near[0].buf, 64, near[0].mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = {
		.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad_send;
	struct ibv_wc wc;

	memset(near[0].buf, tag, 64);
	memset(far[0].buf, ~tag, 64);
	must(!ibv_post_recv(far[0].qp, &recv, &bad_recv));
	must(!ibv_post_send(near[0].qp, &send, &bad_send));
	must(!vt_poll(far[0].rcq, &wc, 1, vt_ms(20000)));
	must(wc.status == IBV_WC_SUCCESS && wc.byte_len == 64);
	must(!vt_poll(near[0].scq, &wc, 1, vt_ms(20000)));
	must(wc.status == IBV_WC_SUCCESS);
	must(!memcmp(near[0].buf, far[0].buf, 64));
}

#define SWEPT	4096		/* PSNs, and a message for each 64 of them */

/* An off-path attacker can guess a PSN, but not the UDP port as well. */
static void packets_from_another_port(void)
{
	struct vt_opts opts = VT_OPTS;
	u64 other, held;
	struct frame frame;
	int i;

	must(!vt_end_create(&near[0], &da, &opts, BUF));
	must(!vt_end_create(&far[0], &db, &opts, BUF));
	must(!vt_connect(&near[0], &far[0]));
	send_near(1);
	other = security_counter("rx_other_port");
	held = security_counter("rx_held");
	for (i = 0; i < 20; i++) {
		security_bth(&frame, 0x04, far[0].qp->qp_num, near[0].psn + 6 + i);
		send_frame(&frame, 12 + 64 + 4, true);
	}
	security_rises("rx_other_port", other, 20);
	ktap_eq(security_counter("rx_held"), held);
	for (i = 0; i < SWEPT; i++) {
		/* ahead of all packets that are sent here */
		security_bth(&frame, 0x04, far[0].qp->qp_num, near[0].psn + 2 + SWEPT / 64 + i);
		send_frame(&frame, 12 + 64 + 4, true);
		if (!(i % 64))
			send_near(2 + i / 64);
	}
	ktap_eq(security_counter("rx_held"), held);
	ktap_eq(vt_state(near[0].qp), IBV_QPS_RTS);
	ktap_eq(vt_state(far[0].qp), IBV_QPS_RTS);
	vt_end_destroy(&near[0]);
	vt_end_destroy(&far[0]);
}

/* A process that sees its own keys must not be able to tell those of others. */
static void keys_are_no_series(void)
{
	struct ibv_mr *mr[64];
	int i, n = 0, near = 0;
	u8 *buf = aligned_alloc(4096, 4096);

	must(buf);
	for (; n < 64; n++) {
		mr[n] = ibv_reg_mr(da.pd, buf, 4096, IBV_ACCESS_LOCAL_WRITE);
		if (!mr[n])
			break;
	}
	ktap_eq(n, 64);
	for (i = 1; i < n; i++)
		near += abs((int)(mr[i]->rkey >> 8) - (int)(mr[i - 1]->rkey >> 8)) < 64;
	/* by chance one in 500 */
	ktap_ok(near < 8);
	for (i = 0; i < n; i++)
		ktap_ok(!ibv_dereg_mr(mr[i]));
	free(buf);
}

#define CACHE_FROM	16384	/* with more regions there is an MR cache */
#define CACHE_SETS	1024	/* of four lines each */
#define SOME_SETS	16

/* Send a WRITE for each of these regions, ten times. Return: the number of replaced lines
 * of the MR cache. Each CPU has a cache of its own, and receives the packets it sends.
 */
static u64 write_to_all(struct ibv_mr **mr, int n, u32 qpn, bool good)
{
	u64 evicts = security_counter("mr_cache_evicts"), seen;
	struct frame frame;
	int i;

	seen = security_counter("rx_icrc_errors") + security_counter("rx_packets");
	for (i = 0; i < 10 * n; i++) {
		u64 va = htobe64((uintptr_t)mr[i % n]->addr);
		u32 key = htonl(mr[i % n]->rkey);

		if (!(i % n))
			vt_stay_on(i / n % 2);
		security_bth(&frame, 0x0a, qpn, two.psn + 5000);
		memcpy(frame.data + 12, &va, 8);
		memcpy(frame.data + 20, &key, 4);
		send_frame(&frame, 12 + 16 + 4, good);
	}
	/* a lower bound of the handled packets, as others send, too */
	for (i = 0; i < 100; i++) {
		if (security_counter("rx_icrc_errors") + security_counter("rx_packets") >=
		    seen + 10 * n)
			break;
		usleep(10000);
	}
	vt_stay_on(-1);
	return security_counter("mr_cache_evicts") - evicts;
}

/* The connection's own WRITEs, until every set is full of regions that were used. */
static void use_all(struct ibv_mr **mr, int n)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_sge sge = { (uintptr_t)one.buf, 8, one.mr->lkey };
	struct ibv_wc wc;
	int i;

	wr.sg_list = &sge;
	for (i = 0; i < 2 * n; i++) {
		wr.wr.rdma.rkey = mr[i % n]->rkey;
		wr.wr.rdma.remote_addr = (uintptr_t)mr[i % n]->addr;
		must(!ibv_post_send(one.qp, &wr, &bad));
		must(!vt_poll(one.scq, &wc, 1, vt_ms(5000)));
		must(wc.status == IBV_WC_SUCCESS);
	}
}

/* Packets without a receiver do not change the MR cache. */
static void packets_and_mr_cache(void)
{
	static struct ibv_mr *mr[CACHE_FROM + 10];
	u8 *buf = aligned_alloc(4096, 4096);
	int i, n = 0;

	if (getenv("CAIRN_FULL") && !strcmp(getenv("CAIRN_FULL"), "0"))
		return;
	must(buf);
	connect_pair();
	/* more regions than lines; some sets are enough */
	for (i = 0; i < CACHE_FROM + 10; i++) {
		mr[n] = ibv_reg_mr(db.pd, buf, 4096, VT_ACCESS);
		must(mr[n]);
		n += (mr[n]->rkey >> 8) % CACHE_SETS < SOME_SETS;
	}
	ktap_diag("%d regions", n);
	must(n > 4 * SOME_SETS);
	use_all(mr, n);
	/* other traffic evicts a line when a CPU new to it runs its queue pairs */
	ktap_ok(write_to_all(mr, n, two.qp->qp_num, false) < SOME_SETS / 4);
	ktap_ok(write_to_all(mr, n, 0xfffff0, true) < SOME_SETS / 4);
	/* ... and packets for a QP do, so the test can see it */
	ktap_ok(write_to_all(mr, n, two.qp->qp_num, true) > SOME_SETS / 4);
	security_disconnect();
	/* the quick way to free all regions */
	vt_close(&db);
	must(!vt_open(&db, vt_name_b(), VT_IPV4, -1));
	free(buf);
}

/* Memory with an error is not accessed, neither for a peer nor for its owner. */
static void on_poison(int sig)
{
}

/* A WRITE to @at, which ends with @status. */
static void poison_write(const struct ibv_mr *mr, const u8 *at,
			 enum ibv_wc_status status)
{
	struct ibv_sge sge = { (uintptr_t)one.buf, 100, one.mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .num_sge = 1, .sg_list = &sge,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_wc wc;

	wr.wr.rdma.rkey = mr->rkey;
	wr.wr.rdma.remote_addr = (uintptr_t)at;
	must(!ibv_post_send(one.qp, &wr, &bad));
	must(!vt_poll(one.scq, &wc, 1, vt_ms(5000)));
	ktap_eq(wc.status, status);
}

/* A page of @mem, which is registered, gets an error: that at @bad. @good: a page that stays
 * good; NULL: all of @mem goes with it.
 */
static void poison_some(u8 *mem, size_t len, u8 *bad, const u8 *good)
{
	u64 before = security_counter("poisoned_pages");
	void (*old)(int);
	struct ibv_mr *mr;

	/* The kernel signals processes that map a bad page; some kernels also this one. */
	old = signal(SIGBUS, on_poison);
	connect_pair();
	memset(mem, 1, len);
	mr = ibv_reg_mr(db.pd, mem, len, VT_ACCESS);
	must(mr);
	/* EBUSY: the page stays, as it is pinned. */
	if (madvise(bad, 4096, MADV_HWPOISON) && errno != EBUSY)
		ktap_fail("cannot poison a page: %s", strerror(errno));
	if (good)
		poison_write(mr, good, IBV_WC_SUCCESS);
	poison_write(mr, bad, IBV_WC_REM_ACCESS_ERR);
	security_rises("poisoned_pages", before, 1);
	ktap_ok(!ibv_dereg_mr(mr));
	munmap(mem, len);
	security_disconnect();
	signal(SIGBUS, old);
}

static bool poison_is_possible(void)
{
	if (!access("/proc/sys/vm/memory_failure_recovery", F_OK))
		return true;
	ktap_skip("this kernel has no memory failures");
	return false;
}

static void poisoned_memory(void)
{
	u8 *page;

	if (!poison_is_possible())
		return;
	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(page != MAP_FAILED);
	poison_some(page, 8192, page, page + 4096);
}

static int reserve_huge_pages(const char *number)
{
	int fd = open("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
		      O_WRONLY);
	int err = fd < 0 || write(fd, number, strlen(number)) < 0;

	close(fd);
	return err;
}

/* The kernel marks the head of a huge page, whichever of its pages has the error. */
static void poisoned_huge_page(void)
{
	const size_t len = 2 << 20;
	u8 *page;

	if (!poison_is_possible())
		return;
	if (reserve_huge_pages("1")) {
		ktap_skip("this kernel has no huge pages of 2 MiB");
		return;
	}
	page = mmap(NULL, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (page == MAP_FAILED)
		ktap_skip("no huge page is free");
	else
		poison_some(page, len, page + 5 * 4096, NULL);
	reserve_huge_pages("0");
}

#define TESTS(X)							\
	X(map_again) X(map_beyond) X(map_read_only) X(map_foreign)	\
	X(store_read_only) X(keep_mapping) X(doorbells) X(doorbell_lists) X(scribble)	\
	X(every_byte) X(wqe_fuzz)					\
	X(unread_events) X(unread_async_events) X(cq_pointers)					\
	X(resize_impossible) X(resize_race) X(doorbell_for_all)		\
	X(packets_wrong_icrc) X(packets_wrong_pkey)			\
	X(responses_for_datagrams) X(packets_for_nobody)		\
	X(packets_malformed) X(packets_random) X(packets_forged)	\
	X(packets_ahead_are_bounded) X(packets_ahead_have_shares)		\
	X(packets_from_another_port)					\
	X(packets_and_mr_cache) X(keys_are_no_series) X(poisoned_memory)	\
	X(poisoned_huge_page)

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	fill_crc_table();
	raw_fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	if (raw_fd < 0)
		return vt_bail();
	return vt_run_on(&da, &db, VT_IPV4, argc > 1 ? argv[1] : NULL);
}
