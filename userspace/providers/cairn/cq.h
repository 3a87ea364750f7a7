/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_CQ_H
#define CAIRN_CQ_H

#include "queue.h"

struct cairn_pd;
struct cairndv_persist_info;

/*
 * Completions of a QP that was reset or destroyed: those before @end are not
 * shown any more. Only the device writes the ring, so they are skipped: the oldest ones
 * at once, others when their turn comes.
 */
struct cairn_cq_discard {
	struct cairn_cq_discard *next;
	uint32_t qpn;
	uint32_t end;
};

/* Parts of the library that look at each poll and completion before the program does. */
enum cairn_cq_watch {
	CAIRN_CQ_CHECKED = 1 << 0,	/* check.h */
	CAIRN_CQ_FAULTY = 1 << 1,	/* fault.h */
};

struct cairn_cq {
	struct verbs_cq vcq;		/* must be first */
	struct cairn_queue queue;	/* its lock also covers a poll batch */
	bool single_threaded;		/* the application promised: no lock */
	uint8_t watch;			/* enum cairn_cq_watch */
	struct cairn_pd *parent;	/* pd.h; or NULL */
	struct cairn_cq_discard *discards;	/* list, usually empty */
	pthread_spinlock_t arm_lock;	/* protects the three below */
	uint64_t arm_seq;		/* of the last request */
	uint64_t next_seq;		/* of the last one for any completion */
	uint64_t event_seq;		/* requests up to it are answered, at least */
	const struct cairn_cqe *cur;	/* extended poll: current completion */
	/* ... and whether one is under way: its entries are not to be published. */
	bool polling;
	struct cairn_cq_empty {
		uint32_t polls;		/* that found nothing, since the last yield */
		uint32_t patience;	/* so many of them, then a yield */
		uint32_t us;		/* of the next one */
	} empty;
};

static inline struct cairn_cq *to_ccq(struct ibv_cq *cq)
{
	return cairn_container_of(cq, struct cairn_cq, vcq.cq);
}

static inline struct cairn_cq *to_ccq_ex(struct ibv_cq_ex *cq)
{
	return cairn_container_of(cq, struct cairn_cq, vcq.cq_ex);
}

static inline void cairn_cq_lock(struct cairn_cq *cq)
{
	if (!cq->single_threaded)
		cairn_queue_lock(&cq->queue);
}

static inline void cairn_cq_unlock(struct cairn_cq *cq)
{
	if (!cq->single_threaded)
		cairn_queue_unlock(&cq->queue);
}

bool cairn_cq_skip(struct cairn_cq *cq);

/* Whether there is a completion to show, then the one at ring.index. Locked. */
static inline bool cairn_cq_ready(struct cairn_cq *cq)
{
	do {
		if (!cairn_ring_ready(&cq->queue.ring))
			return false;
	} while (__builtin_expect(!!cq->discards, 0) &&
		 cairn_cq_skip(cq));
	return true;
}

static inline bool cairn_cq_watched(const struct cairn_cq *cq)
{
	return __builtin_expect(cq->watch, 0);
}

/* A poll found nothing. Return: microseconds for cairn_cq_yield(); 0: no call. Locked. */
static inline uint32_t cairn_cq_tires(struct cairn_cq *cq)
{
	if (__builtin_expect(++cq->empty.polls < cq->empty.patience, 1))
		return 0;
	return cq->empty.us;
}

/* The program polls a watched queue, and finds its end if @drained. */
void cairn_cq_watch_poll(struct cairn_cq *cq, bool drained);
/* ... and sees this completion. Return: the status that it sees. */
enum ibv_wc_status cairn_cq_watch_one(struct cairn_cq *cq, const struct cairn_cqe *cqe);

/* No completion of the queue is seen any more. Locked. */
void cairn_cq_overrun(struct cairn_cq *cq);

/* The device looks at what was polled or armed. Not locked: it is a system call. */
void cairn_cq_look(struct cairn_cq *cq);

/*
 * Leaves the CPU for so many microseconds to other tasks that want it. The more often there
 * are some, the fewer polls precede the next call, and the longer it sleeps. Not locked: it
 * is a system call.
 */
void cairn_cq_yield(struct cairn_cq *cq, uint32_t us);

struct ibv_cq *cairn_create_cq(struct ibv_context *ctx, int cqe,
			       struct ibv_comp_channel *channel,
			       int comp_vector);
struct ibv_cq_ex *cairn_create_cq_ex(struct ibv_context *ctx,
				     struct ibv_cq_init_attr_ex *attr);
int cairn_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
int cairn_resize_cq(struct ibv_cq *cq, int cqe);
int cairn_destroy_cq(struct ibv_cq *cq);
int cairn_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int cairn_req_notify_cq(struct ibv_cq *cq, int solicited_only);
void cairn_cq_event(struct ibv_cq *cq);
/* The QP will not complete anything more until it is set up again. */
void cairn_cq_forget_qp(struct ibv_cq *cq, uint32_t qpn);

/* @info: one for each of @wc, or NULL */
int cairn_cq_poll(struct cairn_cq *cq, int num_entries, struct ibv_wc *wc,
		  struct cairndv_persist_info *info);

#endif /* CAIRN_CQ_H */
