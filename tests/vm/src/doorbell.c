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

static int post(struct vt_end *e, const struct vt_end *peer, u32 len,
		unsigned int list, bool signaled)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, len, e->mr->lkey };
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
	return ibv_post_send(e->qp, wr, &bad);
}

static void connect_ends(struct vt_end *a, struct vt_end *b, size_t len)
{
	struct vt_opts o = VT_OPTS;

	o.cap.max_send_wr = DEPTH;
	o.timeout = 18;
	must(!vt_end_create(a, &dev[0], &o, len));
	must(!vt_end_create(b, &dev[1], &o, len));
	must(!vt_connect(a, b));
}

static bool reap(struct vt_end *e)
{
	struct ibv_wc wc;

	return !vt_poll(e->scq, &wc, 1, LONG) && wc.status == IBV_WC_SUCCESS;
}

static void pause_up_to(unsigned int us)
{
	struct timespec ts = { 0, (long)(ktap_rand_below(us) * 1000) };

	if (ktap_rand_below(3))
		nanosleep(&ts, NULL);
}

static void race(void)
{
	static struct vt_end a, b;
	unsigned int n, list;

	connect_ends(&a, &b, 4096);
	for (n = 0; n < posts; n += list) {
		list = 1 + ktap_rand_below(8);
		must(!post(&a, &b, 8, list, true));
		must(reap(&a));
		pause_up_to(400);
	}
	vt_end_destroy(&a);
	vt_end_destroy(&b);
}

static void mark(void)
{
	ktap_ok(ioctl(-1, 0xca14));
}

static void busy(void)
{
	static struct vt_end a, b;
	unsigned int n, due = 0;

	connect_ends(&a, &b, 4096);
	mark();
	for (n = 0; n < posts; n += 8, due++) {
		must(!post(&a, &b, 8, 8, true));
		if (due >= 4) {
			must(reap(&a));
			due--;
		}
	}
	mark();
	while (due--)
		must(reap(&a));
	vt_end_destroy(&a);
	vt_end_destroy(&b);
}

/* Poll without waiting. */
static unsigned int ready(struct vt_end *e)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(e->scq, 1, &wc);

	must(n >= 0 && (!n || wc.status == IBV_WC_SUCCESS));
	return n;
}

static void share(void)
{
	static struct vt_end a[SMALL + 1], b[SMALL + 1];
	unsigned int done = 0, i, out[SMALL + 1] = {};
	u64 end = vt_now_ms() + LONG;
	unsigned int left[SMALL + 1];

	for (i = 0; i <= SMALL; i++) {
		connect_ends(&a[i], &b[i], i ? 4096 : BIG);
		left[i] = 20;
	}
	while (done < SMALL && vt_now_ms() < end) {
		for (; out[0] < 8; out[0]++)
			must(!post(&a[0], &b[0], BIG, 1, true));
		out[0] -= ready(&a[0]);
		for (i = 1; i <= SMALL; i++) {
			if (!out[i] && left[i]) {
				must(!post(&a[i], &b[i], 64, 1, true));
				out[i] = 1;
			}
			if (out[i] && ready(&a[i])) {
				out[i] = 0;
				done += !--left[i];
			}
		}
	}
	ktap_eq(done, SMALL);
	while (out[0]--)
		must(reap(&a[0]));
	for (i = 0; i <= SMALL; i++) {
		vt_end_destroy(&a[i]);
		vt_end_destroy(&b[i]);
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
