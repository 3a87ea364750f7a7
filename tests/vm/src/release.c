// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Release of memory under load (Documentation/memory-release.rst).
 *
 *	release [TEST]	the tests below; CAIRN_SOAK=1: with 64 QPs, and as often as
 *			a soak needs; another number: that many rounds
 *	release load	traffic that names released keys all the time, until
 *			killed or an error ends it
 *
 * The load is WRITEs over UC queue pairs, which survive keys that are refused:
 * they are posted without end to a region that another thread registers,
 * deregisters and fills with canaries, again and again. With readers there are as
 * many RC queue pairs that READ the region or have its owner send from it, and are
 * connected anew when the region was freed; they check what they get.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#define LONG		vt_ms(60000)
#define REGION		(64 * 1024)
#define KEPT		16	/* released regions that are still watched */
#define CANARY		0xc5
#define DATA		0x3a
#define LOADERS		2

static struct vt_dev dev[2];

static bool release_soak(void)
{
	return getenv("CAIRN_SOAK");
}

static int release_qps(void)
{
	return release_soak() ? 64 : 16;
}

/*
 * The load.
 */

struct target {
	u64 va;
	u32 rkey, lkey;
};

/* One that gets bytes of the target. */
struct reader {
	struct vt_end a, b;
	bool sends;		/* b SENDs, else a READs */
	bool busy;
};

static struct {
	struct target target;
	u32 seq;		/* odd: target is being changed */
	volatile bool stop;
	u64 posted, failed;
	pthread_t thread[LOADERS];
	struct vt_end *a, *b;
	struct reader *reader;
	u64 got, foreign, refused;
	pthread_t reading;
	bool readers;
} load;

static void set_target(const struct ibv_mr *mr)
{
	__atomic_fetch_add(&load.seq, 1, __ATOMIC_SEQ_CST);
	load.target = (struct target){ (uintptr_t)mr->addr, mr->rkey, mr->lkey };
	__atomic_fetch_add(&load.seq, 1, __ATOMIC_SEQ_CST);
}

static struct target get_target(void)
{
	struct target target;
	u32 seq;

	do {
		seq = __atomic_load_n(&load.seq, __ATOMIC_SEQ_CST);
		target = load.target;
	} while (seq & 1 || seq != __atomic_load_n(&load.seq, __ATOMIC_SEQ_CST));
	return target;
}

static int post_write(struct vt_end *end, const struct target *target, u32 len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->buf, .length = len, .lkey = end->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1,
		.wr.rdma = { .remote_addr = target->va, .rkey = target->rkey },
	}, *bad;

	return ibv_post_send(end->qp, &wr, &bad);
}

/* Keep a few WRITEs of the queue pair under way. */
static void release_feed(struct vt_end *end, int *out, u32 *n)
{
	struct target target = get_target();
	struct ibv_wc wc[16];
	int i, r = ibv_poll_cq(end->scq, 16, wc);

	for (i = 0; i < r; i++)
		load.failed += wc[i].status != IBV_WC_SUCCESS;
	*out -= r;
	while (*out < 8 && !post_write(end, &target, 1 + (*n)++ * 997 % REGION)) {
		++*out;
		load.posted++;
	}
}

static void *release_loader(void *arg)
{
	long first = (long)arg, i;
	int out[64] = {};
	u32 n = first;

	while (!load.stop && !load.failed)
		for (i = first; i < release_qps(); i += LOADERS)
			release_feed(&load.a[i], &out[i], &n);
	return NULL;
}

/* While it is registered, the region has only zeroes and data of the WRITEs. */
static bool is_foreign(const u8 *bytes)
{
	u32 i;

	for (i = 0; i < REGION; i++)
		if (bytes[i] && bytes[i] != DATA)
			return true;
	return false;
}

static int get_bytes(struct reader *reader, const struct target *target)
{
	struct ibv_sge sge = {
		.addr = reader->sends ? target->va : (uintptr_t)reader->a.buf,
		.length = REGION,
		.lkey = reader->sends ? target->lkey : reader->a.mr->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = reader->sends ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1,
		.wr.rdma = {
			.remote_addr = reader->sends ? (uintptr_t)reader->a.buf : target->va,
			.rkey = reader->sends ? reader->a.mr->rkey : target->rkey,
		},
	}, *bad;

	return ibv_post_send(reader->sends ? reader->b.qp : reader->a.qp, &wr, &bad);
}

static int connect_anew(struct vt_end *end_a, struct vt_end *end_b)
{
	return vt_to_state(end_a->qp, IBV_QPS_RESET) ?:
	       vt_to_state(end_b->qp, IBV_QPS_RESET) ?: vt_connect(end_a, end_b);
}

/* Return: false when the queue pair cannot be used any more. */
static bool read_on(struct reader *reader)
{
	struct target target = get_target();
	struct ibv_wc wc;
	int n = 0;

	if (reader->busy)
		n = ibv_poll_cq(reader->sends ? reader->b.scq : reader->a.scq, 1, &wc);
	if (n > 0) {
		reader->busy = false;
		load.foreign += is_foreign(reader->a.buf);
		load.got += !wc.status;
		load.refused += !!wc.status;
		if (wc.status && connect_anew(&reader->a, &reader->b))
			return false;
	}
	if (n < 0 || (!reader->busy && target.va && get_bytes(reader, &target)))
		return false;
	reader->busy = target.va;
	return true;
}

static void *read_all(void *arg)
{
	unsigned int idle = 0;
	int i;

	while (!load.stop && !load.failed) {
		u64 before = load.got + load.refused;

		for (i = 0; i < release_qps(); i++)
			load.failed += !read_on(&load.reader[i]);
		if (load.got + load.refused != before)
			idle = 0;
		vt_relax(&idle);
	}
	return NULL;
}

/* End a reader that has no request in flight. */
static int reader_ends(void)
{
	struct vt_opts opts = VT_OPTS;
	int i, err = 0;

	opts.mtu = IBV_MTU_4096;
	load.reader = calloc(release_qps(), sizeof(*load.reader));
	for (i = 0; i < release_qps() && !err; i++) {
		struct reader *reader = &load.reader[i];

		reader->sends = i & 1;
		err = vt_end_create(&reader->a, &dev[0], &opts, REGION) ?:
		      vt_end_create(&reader->b, &dev[1], &opts, 4096) ?:
		      vt_connect(&reader->a, &reader->b);
	}
	return err;
}

static int load_ends(void)
{
	struct vt_opts opts = VT_OPTS;
	int i, err = 0;

	opts.type = IBV_QPT_UC;
	opts.mtu = IBV_MTU_4096;
	load.a = calloc(release_qps(), sizeof(*load.a));
	load.b = calloc(release_qps(), sizeof(*load.b));
	for (i = 0; i < release_qps() && !err; i++) {
		err = vt_end_create(&load.a[i], &dev[0], &opts, REGION) ?:
		      vt_end_create(&load.b[i], &dev[1], &opts, 4096) ?:
		      vt_connect(&load.a[i], &load.b[i]);
		memset(load.a[i].buf, DATA, REGION);
	}
	return err;
}

static void load_start(void)
{
	long i;

	load.stop = false;
	for (i = 0; i < LOADERS; i++)
		must(!pthread_create(&load.thread[i], NULL, release_loader, (void *)i));
	if (load.readers)
		must(!pthread_create(&load.reading, NULL, read_all, NULL));
}

static void load_stop(void)
{
	int i;

	load.stop = true;
	for (i = 0; i < LOADERS; i++)
		pthread_join(load.thread[i], NULL);
	if (load.readers)
		pthread_join(load.reading, NULL);
	ktap_eq(load.failed, 0);
	ktap_eq(load.foreign, 0);
}

/*
 * Regions.
 */

static u8 *region_new(void)
{
	void *mem = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(mem != MAP_FAILED);
	return mem;
}

static struct ibv_mr *release_reg(const struct vt_dev *dev, void *mem)
{
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, mem, REGION, VT_ACCESS);

	must(mr);
	return mr;
}

static void check_canaries(const u8 *bytes)
{
	int i;

	for (i = 0; i < REGION; i++) {
		if (bytes[i] == CANARY)
			continue;
		ktap_fail("byte %d of a released region is %02x", i, bytes[i]);
		must(false);
	}
}

/* Wait until data arrives at @bytes, or a long time passes. */
static bool release_hit(const u8 *bytes)
{
	u64 end = vt_now_ms() + LONG;
	unsigned int idle = 0;

	while (!*(volatile const u8 *)bytes) {
		if (vt_now_ms() > end)
			return false;
		vt_relax(&idle);
	}
	return true;
}

/* The released regions of the last rounds: no byte of them changes any more. */
static u8 *kept[KEPT];

static void release_keep(unsigned int round, u8 *bytes)
{
	u8 **slot = &kept[round % KEPT];

	memset(bytes, CANARY, REGION);
	if (*slot) {
		check_canaries(*slot);
		munmap(*slot, REGION);
	}
	*slot = bytes;
}

static void keep_end(void)
{
	int i;

	for (i = 0; i < KEPT; i++) {
		if (!kept[i])
			continue;
		check_canaries(kept[i]);
		munmap(kept[i], REGION);
		kept[i] = NULL;
	}
}

/* Go on for that time, or for the rounds of a soak: most for the test with all loads. */
static bool go_on(unsigned int round, u64 start, int ms)
{
	unsigned int rounds = release_soak() ? atoi(getenv("CAIRN_SOAK")) : 0;

	if (rounds == 1)
		rounds = load.readers ? 100000 : 10000;
	if (rounds)
		return round < rounds;
	return round < 20 || vt_now_ms() < start + ms;
}

static int (*dereg_async)(struct ibv_mr *mr, u32 *ticket);
static int (*query_release)(struct ibv_context *ctx, u32 ticket);

static void async_calls(void)
{
	void *lib = dlopen("libcairn.so.1", RTLD_NOW);

	must(lib);
	dereg_async = dlsym(lib, "cairndv_dereg_mr_async");
	query_release = dlsym(lib, "cairndv_query_release");
	must(dereg_async && query_release);
}

static void dereg_and_poll(struct ibv_mr *mr)
{
	struct ibv_context *ctx = mr->context;
	u64 end = vt_now_ms() + LONG;
	unsigned int idle = 0;
	u32 ticket;
	int err;

	must(!dereg_async(mr, &ticket));
	while ((err = query_release(ctx, ticket)) == EBUSY) {
		must(vt_now_ms() < end);
		vt_relax(&idle);
	}
	must(!err);
}

static void release_rounds(bool async, int ms)
{
	u64 start = vt_now_ms();
	unsigned int round;

	load_start();
	for (round = 0; go_on(round, start, ms); round++) {
		u8 *bytes = region_new();
		struct ibv_mr *mr = release_reg(&dev[1], bytes);

		set_target(mr);
		must(release_hit(bytes));
		if (async)
			dereg_and_poll(mr);
		else
			must(!ibv_dereg_mr(mr));
		release_keep(round, bytes);
	}
	load_stop();
	keep_end();
	ktap_diag("%u rounds, %llu WRITEs over %d QPs", round,
		  (unsigned long long)load.posted, release_qps());
}

static void released_under_writes(void)
{
	release_rounds(false, 5000);
}

static void released_without_waiting(void)
{
	async_calls();
	release_rounds(true, 3000);
}

/* All at once, with as many queue pairs that read or send bytes of the region. */
static void released_under_reads_and_writes(void)
{
	must(load.reader || !reader_ends());
	load.readers = true;
	release_rounds(false, 4000);
	load.readers = false;
	ktap_diag("%llu messages out of the region, %llu were too late",
		  (unsigned long long)load.got,
		  (unsigned long long)load.refused);
	ktap_ok(load.got > 0);
}

/*
 * Connections: what a peer gets of a region that is released meanwhile.
 */

static void release_expect_only(const u8 *place, u32 len, u8 x, u8 y)
{
	u32 i;

	for (i = 0; i < len; i++) {
		if (place[i] == x || place[i] == y)
			continue;
		ktap_fail("foreign byte %02x at %u", place[i], i);
		must(false);
	}
}

/* A peer sends its NAK once. Where packets are lost (CAIRN_LOSS) the NAK may be, too, and
 * the peer in error does not answer again.
 */
static bool read_may_end(enum ibv_wc_status status)
{
	return status == IBV_WC_SUCCESS || status == IBV_WC_REM_ACCESS_ERR ||
	       status == IBV_WC_WR_FLUSH_ERR ||
	       (status == IBV_WC_RETRY_EXC_ERR && getenv("CAIRN_LOSS"));
}

/* READs of a region: data or an error, but no later contents. */
static void released_under_reads(void)
{
	u64 start = vt_now_ms();
	struct vt_opts opts = VT_OPTS;
	unsigned int round, good = 0;
	struct vt_end end_a, end_b;

	opts.timeout = 18;
	must(!vt_end_create(&end_a, &dev[0], &opts, REGION));
	must(!vt_end_create(&end_b, &dev[1], &opts, 4096));
	for (round = 0; go_on(round, start, 1500); round++) {
		u8 *bytes = region_new();
		struct ibv_mr *mr = release_reg(&dev[1], bytes);
		struct ibv_sge sge = {
			.addr = (uintptr_t)end_a.buf, .length = REGION,
			.lkey = end_a.mr->lkey,
		};
		struct ibv_send_wr wr = {
			.opcode = IBV_WR_RDMA_READ,
			.send_flags = IBV_SEND_SIGNALED,
			.sg_list = &sge, .num_sge = 1,
			.wr.rdma = { (uintptr_t)bytes, mr->rkey },
		}, *bad;
		struct ibv_wc wc[4];
		int i;

		memset(bytes, DATA, REGION);
		memset(end_a.buf, 0, REGION);
		must(!connect_anew(&end_a, &end_b));
		for (i = 0; i < 4; i++)
			must(!ibv_post_send(end_a.qp, &wr, &bad));
		if (round & 1)
			release_hit(end_a.buf);
		must(!ibv_dereg_mr(mr));
		release_keep(round, bytes);
		must(!vt_poll(end_a.scq, wc, 4, LONG));
		for (i = 0; i < 4; i++) {
			good += wc[i].status == IBV_WC_SUCCESS;
			if (!ktap_ok(read_may_end(wc[i].status)))
				ktap_diag("status %s",
					  ibv_wc_status_str(wc[i].status));
		}
		release_expect_only(end_a.buf, REGION, DATA, 0);
	}
	ktap_diag("%u rounds, %u READs were in time", round, good);
	keep_end();
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
}

/* A region that its owner sends from: the peer gets data, but no later contents. */
static void released_under_its_own_writes(void)
{
	u64 start = vt_now_ms();
	struct vt_opts opts = VT_OPTS;
	struct vt_end end_a, end_b;
	unsigned int round;

	must(!vt_end_create(&end_a, &dev[0], &opts, 4096));
	must(!vt_end_create(&end_b, &dev[1], &opts, REGION));
	for (round = 0; go_on(round, start, 1500); round++) {
		u8 *bytes = region_new();
		struct ibv_mr *mr = release_reg(&dev[0], bytes);
		struct vt_end from = end_a;
		struct target target = {
			.va = (uintptr_t)end_b.buf, .rkey = end_b.mr->rkey,
		};
		struct ibv_wc wc[4];
		int i;

		from.buf = bytes;
		from.mr = mr;
		memset(bytes, DATA, REGION);
		memset(end_b.buf, 0, REGION);
		must(!connect_anew(&end_a, &end_b));
		for (i = 0; i < 4; i++)
			must(!post_write(&from, &target, REGION));
		must(!ibv_dereg_mr(mr));
		release_keep(round, bytes);
		must(!vt_poll(end_a.scq, wc, 4, LONG));
		for (i = 0; i < 4; i++)
			ktap_ok(wc[i].status == IBV_WC_SUCCESS ||
				wc[i].status == IBV_WC_LOC_PROT_ERR ||
				wc[i].status == IBV_WC_WR_FLUSH_ERR);
		release_expect_only(end_b.buf, REGION, DATA, 0);
	}
	ktap_diag("%u rounds", round);
	keep_end();
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
}

/*
 * Late operations.
 */

/* Packets of one WRITE, as they left the netdev. */
static int capture_socket(struct sockaddr_ll *to)
{
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));

	must(fd >= 0);
	*to = (struct sockaddr_ll){
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = if_nametoindex(getenv("IF_A") ?: "va"),
	};
	must(to->sll_ifindex);
	must(!bind(fd, (struct sockaddr *)to, sizeof(*to)));
	return fd;
}

/* WRITE over @end with its own data to @target, until it completes at @end. */
static void write_now(struct vt_end *end, const struct target *target, u32 len)
{
	struct ibv_wc wc;

	must(!post_write(end, target, len));
	must(!vt_poll(end->scq, &wc, 1, LONG));
	must(wc.status == IBV_WC_SUCCESS);
}

#define FRAMES	8

static int release_capture(int fd, u8 frame[FRAMES][2048], int *len)
{
	int n = 0, r;

	while (n < FRAMES &&
	       (r = recv(fd, frame[n], sizeof(frame[n]), MSG_DONTWAIT)) > 0)
		if (r > 42 && frame[n][36] == 0x12 && frame[n][37] == 0xb7)
			len[n++] = r;
	return n;
}

/* Repeated WRITE packets, when their region is freed and another one has its index, are
 * refused, and the other region does not change.
 */
static void replayed_after_release(void)
{
	struct vt_opts opts = VT_OPTS;
	u8 frame[FRAMES][2048], *bytes = region_new(), *other;
	int len[FRAMES], n, i, fd;
	struct ibv_mr *mr = release_reg(&dev[1], bytes), *mr2;
	struct vt_end end_a, end_b;
	struct sockaddr_ll to;
	struct target target = { .va = (uintptr_t)bytes, .rkey = mr->rkey };
	u32 index = mr->rkey >> 8, old = mr->rkey;

	opts.type = IBV_QPT_UC;
	must(!vt_end_create(&end_a, &dev[0], &opts, REGION));
	must(!vt_end_create(&end_b, &dev[1], &opts, REGION));
	must(!vt_connect(&end_a, &end_b));
	fd = capture_socket(&to);
	memset(end_a.buf, DATA, REGION);
	write_now(&end_a, &target, 1000);
	must(release_hit(bytes));
	n = release_capture(fd, frame, len);
	ktap_ok(n > 0);
	must(!ibv_dereg_mr(mr));
	/* until the same index is drawn again: one of 65536, 5 % take longer */
	mr2 = ibv_reg_mr(dev[1].pd, bytes, REGION, VT_ACCESS);
	must(mr2);
	for (i = 1; i < 200000 && mr2->rkey >> 8 != index; i++) {
		must(!ibv_dereg_mr(mr2));
		mr2 = ibv_reg_mr(dev[1].pd, bytes, REGION, VT_ACCESS);
		must(mr2);
	}
	ktap_diag("index %s after %d registrations",
		  mr2->rkey >> 8 == index ? "used again" : "not used", i);
	ktap_ok(mr2->rkey != old);
	memset(bytes, CANARY, REGION);
	for (i = 0; i < n; i++)
		ktap_eq(sendto(fd, frame[i], len[i], 0, (struct sockaddr *)&to,
			       sizeof(to)), len[i]);
	write_now(&end_a, &target, 500);
	/* a later packet has arrived, so these have */
	other = end_b.buf;
	target = (struct target){ .va = (uintptr_t)other, .rkey = end_b.mr->rkey };
	write_now(&end_a, &target, 10);
	ktap_ok(release_hit(other));
	check_canaries(bytes);
	must(!ibv_dereg_mr(mr2));
	close(fd);
	munmap(bytes, REGION);
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
}

/*
 * Turns.
 */

static int release_flip(bool async)
{
	int n = release_soak() ? 20000 : 60, i;
	struct vt_dev dev;
	u32 ticket;
	u8 *bytes;

	if (vt_open(&dev, vt_name_b(), VT_IPV4, -1))
		return 1;
	bytes = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < n; i++) {
		struct ibv_mr *mr = ibv_reg_mr(dev.pd, bytes, REGION, VT_ACCESS);

		if (!mr || (async && i & 1 ? dereg_async(mr, &ticket) :
					     ibv_dereg_mr(mr)))
			return 2;
	}
	vt_close(&dev);
	return 0;
}

/* Many processes release all the time, under load. */
static void flip_storm(void)
{
	int i, status, child[4];

	async_calls();
	load_start();
	for (i = 0; i < 4; i++) {
		fflush(stdout);
		child[i] = fork();
		if (!child[i])
			_exit(release_flip(i & 1));
	}
	for (i = 0; i < 4; i++) {
		must(waitpid(child[i], &status, 0) == child[i]);
		ktap_eq(status, 0);
	}
	load_stop();
}

static int set_delay(unsigned int ms)
{
	int fd = open("/sys/module/cairn_delay/parameters/ms", O_RDWR);
	int ret = fd < 0 ? -1 : dprintf(fd, "%u\n", ms);

	if (fd >= 0)
		close(fd);
	return ret;
}

static bool delay_taken(void)
{
	char buf[16] = "";
	int fd = open("/sys/module/cairn_delay/parameters/ms", O_RDONLY);

	if (fd >= 0 && read(fd, buf, sizeof(buf) - 1) < 0)
		buf[0] = '1';
	if (fd >= 0)
		close(fd);
	return buf[0] == '0';
}

static void *write_arg(void *arg)
{
	struct target target = get_target();

	post_write(arg, &target, 1000);
	return NULL;
}

/* A packet is held between the look-up of its memory and the copy. */
static void stuck_in_the_pipeline(void)
{
	struct vt_opts opts = VT_OPTS;
	struct vt_end end_a, end_b;
	struct ibv_mr *mr;
	pthread_t poster;
	struct ibv_wc wc;
	u64 end;
	u8 *bytes;

	/* release.sh loads it where there is a function tracer */
	if (set_delay(0) < 0) {
		ktap_skip("no cairn_delay");
		return;
	}
	opts.type = IBV_QPT_UC;
	must(!vt_end_create(&end_a, &dev[0], &opts, REGION));
	must(!vt_end_create(&end_b, &dev[1], &opts, 4096));
	must(!vt_connect(&end_a, &end_b));
	memset(end_a.buf, DATA, REGION);
	bytes = region_new();
	mr = release_reg(&dev[1], bytes);
	set_target(mr);
	must(set_delay(5000) > 0);
	must(!pthread_create(&poster, NULL, write_arg, &end_a));
	for (end = vt_now_ms() + LONG; !delay_taken();)
		must(vt_now_ms() < end);
	/* The packet has the page now, and writes it five seconds later. */
	/* A CPU that is held in a soft interrupt looks idle. This thread would have to wait
	 * there, so it stays here.
	 */
	must(vt_stay_on(sched_getcpu()));
	ktap_eq(bytes[0], 0);
	must(!ibv_dereg_mr(mr));
	must(vt_stay_on(-1));
	/* Released: the packet has been written, and no write follows. */
	ktap_eq(bytes[0], DATA);
	memset(bytes, CANARY, REGION);
	pthread_join(poster, NULL);
	must(!vt_poll(end_a.scq, &wc, 1, LONG));
	check_canaries(bytes);
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
}

static int run_load(void)
{
	unsigned int round = 0;

	if (load_ends() || reader_ends())
		return 1;
	load.readers = true;
	load_start();
	puts("running");
	fflush(stdout);
	while (!load.failed) {
		u8 *bytes = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct ibv_mr *mr = ibv_reg_mr(dev[1].pd, bytes, REGION, VT_ACCESS);

		if (!mr)
			return 2;
		set_target(mr);
		while (round++ % 64 && !load.failed)
			;
		if (ibv_dereg_mr(mr))
			return 3;
		munmap(bytes, REGION);
	}
	return 4;
}

/* More regions than a device looks up without a cache (device/mrcache.h). */
#define CACHED_FROM	16384

static int run_fill(void)
{
	u8 *bytes = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	for (i = 0; i < CACHED_FROM + 64; i++)
		if (!ibv_reg_mr(dev[1].pd, bytes, 4096, VT_ACCESS))
			return 2;
	puts("filled");
	fflush(stdout);
	pause();
	return 0;
}

#define TESTS(X)							\
	X(released_under_writes)					\
	X(released_without_waiting)					\
	X(released_under_reads_and_writes)				\
	X(released_under_reads)						\
	X(released_under_its_own_writes)				\
	X(replayed_after_release)					\
	X(flip_storm)							\
	X(stuck_in_the_pipeline)

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	if (!vt_open_both(&dev[0], &dev[1], VT_IPV4))
		return 1;
	if (argc > 1 && !strcmp(argv[1], "load"))
		return run_load();
	if (argc > 1 && !strcmp(argv[1], "fill"))
		return run_fill();
	if (load_ends())
		return 1;
	return vt_run(argc > 1 ? argv[1] : NULL);
}
