// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting without system calls: doorbell race|busy|share POSTS.
 *
 * race: a list of posts, its completion, and a pause. The pause is sometimes shorter and
 *	sometimes longer than the 200 us that the device stays awake. So posts meet every
 *	moment of its falling asleep. A lost wake-up shows as a timeout.
 * busy: a send queue that is never empty. Two failing ioctl() calls show a tracer its
 *	beginning and its end.
 * share: one queue with 1 MiB messages, a hundred with 64 bytes; each of the
 *	small ones makes progress while the large one is never empty.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include "vt.h"
#include "vt_test.h"

#define LONG	vt_ms(60000)
#define DEPTH	64
#define SMALL	100
#define BIG	(1 << 20)

static struct vt_dev dev[2];
static unsigned int posts = 20000;

static int doorbell_post(struct vt_end *end, const struct vt_end *peer, u32 len,
			 unsigned int list, bool signaled)
{
	struct ibv_sge sge = { (uintptr_t)end->buf, len, end->mr->lkey };
	struct ibv_send_wr wr[8] = {}, *bad;

	for (unsigned int i = 0; i < list; i++) {
		wr[i] = (struct ibv_send_wr){
			.next = i + 1 < list ? &wr[i + 1] : NULL,
			.sg_list = &sge, .num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.wr.rdma = { (uintptr_t)peer->buf, peer->mr->rkey },
		};
		if (signaled && i + 1 == list)
			wr[i].send_flags = IBV_SEND_SIGNALED;
	}
	return ibv_post_send(end->qp, wr, &bad);
}

static void connect_ends(struct vt_end *end_a, struct vt_end *end_b, size_t len)
{
	struct vt_opts opts = VT_OPTS;

	opts.cap.max_send_wr = DEPTH;
	opts.timeout = 18;
	must(!vt_end_create(end_a, &dev[0], &opts, len));
	must(!vt_end_create(end_b, &dev[1], &opts, len));
	must(!vt_connect(end_a, end_b));
}

static bool doorbell_reap(struct vt_end *end)
{
	struct ibv_wc wc;

	return !vt_poll(end->scq, &wc, 1, LONG) && wc.status == IBV_WC_SUCCESS;
}

static void pause_up_to(unsigned int us)
{
	struct timespec ts = { 0, (long)(ktap_rand_below(us) * 1000) };

	if (ktap_rand_below(3))
		nanosleep(&ts, NULL);
}

static void race(void)
{
	static struct vt_end end_a, end_b;
	unsigned int n, list;

	connect_ends(&end_a, &end_b, 4096);
	for (n = 0; n < posts; n += list) {
		list = 1 + ktap_rand_below(8);
		must(!doorbell_post(&end_a, &end_b, 8, list, true));
		must(doorbell_reap(&end_a));
		pause_up_to(400);
	}
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
}

static void doorbell_mark(void)
{
	ktap_ok(ioctl(-1, 0xca14));
}

static void busy(void)
{
	static struct vt_end end_a, end_b;
	unsigned int n, due = 0;

	connect_ends(&end_a, &end_b, 4096);
	doorbell_mark();
	for (n = 0; n < posts; n += 8, due++) {
		must(!doorbell_post(&end_a, &end_b, 8, 8, true));
		if (due >= 4) {
			must(doorbell_reap(&end_a));
			due--;
		}
	}
	doorbell_mark();
	while (due--)
		must(doorbell_reap(&end_a));
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
}

/* Poll without waiting. */
static unsigned int doorbell_ready(struct vt_end *end)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(end->scq, 1, &wc);

	must(n >= 0 && (!n || wc.status == IBV_WC_SUCCESS));
	return n;
}

static void share(void)
{
	static struct vt_end end_a[SMALL + 1], end_b[SMALL + 1];
	unsigned int done = 0, i, out[SMALL + 1] = {};
	u64 end = vt_now_ms() + LONG;
	unsigned int left[SMALL + 1];

	for (i = 0; i <= SMALL; i++) {
		connect_ends(&end_a[i], &end_b[i], i ? 4096 : BIG);
		left[i] = 20;
	}
	while (done < SMALL && vt_now_ms() < end) {
		for (; out[0] < 8; out[0]++)
			must(!doorbell_post(&end_a[0], &end_b[0], BIG, 1, true));
		out[0] -= doorbell_ready(&end_a[0]);
		for (i = 1; i <= SMALL; i++) {
			if (!out[i] && left[i]) {
				must(!doorbell_post(&end_a[i], &end_b[i], 64, 1, true));
				out[i] = 1;
			}
			if (out[i] && doorbell_ready(&end_a[i])) {
				out[i] = 0;
				done += !--left[i];
			}
		}
	}
	ktap_eq(done, SMALL);
	while (out[0]--)
		must(doorbell_reap(&end_a[0]));
	for (i = 0; i <= SMALL; i++) {
		vt_end_destroy(&end_a[i]);
		vt_end_destroy(&end_b[i]);
	}
}

#define TESTS(X)	X(race) X(busy) X(share)

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	if (argc > 2)
		posts = atoi(argv[2]);
	return vt_run_on(&dev[0], &dev[1], VT_IPV4, argc > 1 ? argv[1] : NULL);
}
