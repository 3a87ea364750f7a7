// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The provider's barriers against a device thread that keeps its side of them
 * (ring.h and ready.h name the pairs). The device may not sleep through a post, no
 * completion may lack its event, and no data may be read before it was written. A lost
 * wake-up shows as a timeout.
 */
#include <errno.h>
#include <semaphore.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "cq.h"
#include "fake.h"
#include "ktap.h"
#include "qp.h"

#define POSTS		60000
#define POSTERS		2
#define TIMEOUT_S	60

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct fake_ring *sq, *cring;
static sem_t woken, event;
static atomic_bool timed_out;
static atomic_ulong bad_order, naps, events;

static bool wait_for(sem_t *sem)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += TIMEOUT_S;
	while (sem_timedwait(sem, &ts))
		if (errno != EINTR) {
			timed_out = true;
			return false;
		}
	return true;
}

static void on_doorbell(const struct cairn_doorbell *db)
{
	(void)db;
	sem_post(&woken);
}

/* Takes the bit as a lane does: summary, then word. */
static bool device_poll(void)
{
	uint32_t bit = sq->desc.ready_bit;

	if (!__atomic_exchange_n(&sq->ready->summary, 0, __ATOMIC_SEQ_CST))
		return false;
	return __atomic_exchange_n(&sq->ready->words[bit / 64], 0,
				   __ATOMIC_SEQ_CST);
}

/* Sleeps as a lane does: flag, full barrier, look again. */
static bool device_nap(void)
{
	__atomic_store_n(sq->asleep, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!device_poll()) {
		naps++;
		if (!wait_for(&woken))
			return false;
	}
	__atomic_store_n(sq->asleep, 0, __ATOMIC_RELAXED);
	return true;
}

/* Each poster numbers its posts: high half poster, low half number. */
static void device_check(const struct cairn_send_wqe *wqe)
{
	static uint32_t next[POSTERS];
	uint32_t who = (uint32_t)(wqe->wr_id >> 32);

	if (who >= POSTERS || next[who] != (uint32_t)wqe->wr_id ||
	    wqe->units != 1 || wqe->sge[0].addr != ~wqe->wr_id) {
		bad_order++;
		return;
	}
	next[who]++;
}

static void device_event(void)
{
	static uint32_t answered;
	uint32_t arm;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	arm = __atomic_load_n(&cring->host->arm, __ATOMIC_ACQUIRE);
	if (arm == answered)
		return;
	answered = arm;
	sem_post(&event);
}

static void device_finish(const struct cairn_send_wqe *wqe)
{
	struct cairn_cqe cqe = { .wr_id = wqe->wr_id,
				 .timestamp = ~wqe->wr_id };

	while (cring->dev->index -
	       __atomic_load_n(&cring->host->index, __ATOMIC_ACQUIRE) ==
	       cring->desc.depth) {
		if (timed_out)
			return;
		sched_yield();
	}
	fake_complete(cring, &cqe);
	device_event();
}

static void *device(void *arg)
{
	uint32_t index = 0;

	(void)arg;
	while (index != POSTS * POSTERS && !timed_out) {
		uint32_t tail;

		if (!device_poll() && !device_nap())
			break;
		tail = __atomic_load_n(&sq->host->index, __ATOMIC_ACQUIRE);
		while (index != tail) {
			struct cairn_send_wqe wqe;

			memcpy(&wqe, fake_unit(sq, index++), sizeof(wqe));
			__atomic_store_n(&sq->dev->index, index,
					 __ATOMIC_RELEASE);
			device_check(&wqe);
			device_finish(&wqe);
		}
	}
	return NULL;
}

static void *poster(void *arg)
{
	uint64_t who = (uintptr_t)arg;
	uint32_t n = 0;

	while (n < POSTS && !timed_out) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
		struct ibv_send_wr *bad;
		struct ibv_sge sge = {};

		wr.wr_id = who << 32 | n;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		sge.addr = ~wr.wr_id;
		if (!fake.ops.post_send(qp, &wr, &bad))
			n++;
		else
			sched_yield();
		if (!(n % 1000))
			sched_yield();
	}
	return NULL;
}

static uint32_t drain(void)
{
	struct ibv_wc wc[8];
	uint32_t n = 0;
	int got;

	while ((got = fake.ops.poll_cq(cq, 8, wc)) > 0)
		n += (uint32_t)got;
	return n;
}

/* The usual loop: poll, arm, poll once more, wait for the event. */
static void consume(void)
{
	uint32_t n = 0;

	while (n != POSTS * POSTERS && !timed_out) {
		uint32_t more;

		n += drain();
		fake.ops.req_notify_cq(cq, 0);
		more = drain();
		n += more;
		if (more || n == POSTS * POSTERS)
			continue;
		events++;
		if (!wait_for(&event))
			break;
		fake.ops.cq_event(cq);
	}
	ktap_eq(n, POSTS * POSTERS);
}

static void setup(void)
{
	fake_reset();
	ctx = fake_open();
	pd = fake_pd(ctx);
	cq = fake_cq(ctx, 64);
	cring = &fake.rings[fake.last_qid];
	qp = fake_qp(pd, cq, IBV_QPT_RC, 0);
	sq = fake_sq(qp);
	fake.on_doorbell = on_doorbell;
	sem_init(&woken, 0, 0);
	sem_init(&event, 0, 0);
}

static void posts_and_completions(void)
{
	pthread_t threads[POSTERS + 1];

	setup();
	pthread_create(&threads[POSTERS], NULL, device, NULL);
	for (uintptr_t i = 0; i < POSTERS; i++)
		pthread_create(&threads[i], NULL, poster, (void *)i);
	consume();
	for (int i = 0; i <= POSTERS; i++)
		pthread_join(threads[i], NULL);
	ktap_ok(!timed_out);
	ktap_eq(bad_order, 0);
	printf("# the device slept %lu times, %d doorbells, %lu events\n",
	       naps, fake.doorbells, events);
	fake.ops.destroy_qp(qp);
	fake.ops.destroy_cq(cq);
	fake.ops.dealloc_pd(pd);
	fake_close(ctx);
}

/*
 * The two full barriers by themselves: host and device each store one word and
 * load the other's, at the same moment as far as possible. Both must not miss.
 */
#define ROUNDS		300000

static struct cairn_qinfo_dev l_dev __attribute__((aligned(64)));
static struct cairn_qinfo_host l_host __attribute__((aligned(64)));
static _Atomic uint32_t l_round __attribute__((aligned(64)));
static _Atomic uint32_t l_done __attribute__((aligned(64)));
static bool l_device_saw[ROUNDS + 1], l_host_saw[ROUNDS + 1];
static bool l_arms;

static void spin_until(_Atomic uint32_t *word, uint32_t value)
{
	for (unsigned int i = 1; *word != value; i++)
		if (!(i % 2000))
			sched_yield();	/* one CPU only */
}

static void *litmus_device(void *arg)
{
	uint32_t *mine = l_arms ? &l_dev.index : &l_dev.wakeup;
	uint32_t *theirs = l_arms ? &l_host.arm : &l_host.index;

	(void)arg;
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		spin_until(&l_round, i);
		__atomic_store_n(mine, i, __ATOMIC_RELEASE);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		l_device_saw[i] = __atomic_load_n(theirs, __ATOMIC_ACQUIRE) == i;
		l_done = i;
	}
	return NULL;
}

static bool litmus_wake(struct cairn_ring *ring, uint32_t i)
{
	ring->index = i;
	cairn_ring_publish(ring);
	return cairn_ring_must_wake(ring);
}

static bool litmus_arm(struct cairn_ring *ring, uint32_t i)
{
	cairn_ring_arm(ring, i);
	cairn_ring_reload(ring);
	return ring->dev_index == i;
}

static void litmus(bool arms)
{
	struct cairn_ring ring = { .dev = &l_dev, .host = &l_host };
	uint32_t missed = 0;
	pthread_t thread;

	memset(&l_dev, 0, sizeof(l_dev));
	memset(&l_host, 0, sizeof(l_host));
	l_arms = arms;
	l_round = 0;
	l_done = 0;
	pthread_create(&thread, NULL, litmus_device, NULL);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		l_dev.wakeup = 0;
		l_round = i;
		l_host_saw[i] = arms ? litmus_arm(&ring, i) :
				       litmus_wake(&ring, i);
		spin_until(&l_done, i);
		missed += !l_host_saw[i] && !l_device_saw[i];
	}
	pthread_join(thread, NULL);
	ktap_eq(missed, 0);
}

/*
 * The ready map by itself. The device raises its flag, takes the bit and reads
 * the write pointer; the host posts. In every second round the bit is there
 * from before, so that the host sees it set and stores nothing.
 */
static struct cairn_ready_page l_map __attribute__((aligned(64)));
static struct cairn_wake l_wake __attribute__((aligned(64)));

static void *map_device(void *arg)
{
	(void)arg;
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		spin_until(&l_round, i);
		__atomic_store_n(&l_wake.asleep, 1, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		l_device_saw[i] =
			__atomic_exchange_n(&l_map.words[3], 0,
					    __ATOMIC_SEQ_CST) &&
			__atomic_load_n(&l_host.index, __ATOMIC_ACQUIRE) == i;
		l_done = i;
	}
	return NULL;
}

static bool map_host(struct cairn_ring *ring, const struct cairn_ready *ready,
		     uint32_t i)
{
	ring->index = i;
	cairn_ring_publish(ring);
	cairn_ready_mark(ready);
	return cairn_ready_state(ready) == CAIRN_LANE_ASLEEP;
}

static void map_barriers(void)
{
	struct cairn_ring ring = { .dev = &l_dev, .host = &l_host };
	struct cairn_ready ready = {
		.word = (uint64_t *)&l_map.words[3],
		.summary = (uint64_t *)&l_map.summary,
		.word_bit = 1 << 5,
		.summary_bit = 1 << 3,
		.state = &l_wake.asleep,
	};
	uint32_t missed = 0;
	pthread_t thread;

	l_round = 0;
	l_done = 0;
	pthread_create(&thread, NULL, map_device, NULL);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		l_wake.asleep = 0;
		l_map.summary = 1 << 3;
		l_map.words[3] = i % 2 << 5;
		l_round = i;
		l_host_saw[i] = map_host(&ring, &ready, i);
		spin_until(&l_done, i);
		missed += !l_device_saw[i] && !l_host_saw[i];
	}
	pthread_join(thread, NULL);
	ktap_eq(missed, 0);
}

static void wake_barrier(void)
{
	litmus(false);
}

static void arm_barrier(void)
{
	litmus(true);
}

static const struct ktap_test tests[] = {
	KTAP(wake_barrier),
	KTAP(arm_barrier),
	KTAP(map_barriers),
	KTAP(posts_and_completions),
};

KTAP_MAIN(tests)
