// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "check_buffer.h"
#include "check_region.h"
#include "check_report.h"
#include "check_work.h"
#include "keys.h"
#include "pd.h"
#include "wqe.h"

#define WORK_BUCKETS	1024
#define WORK_GRAVES	4096		/* destroyed QPs that are remembered */
#define WORK_SGES	8		/* of a request that are remembered */
#define WORK_IDLE_POLLS	100000		/* of an empty queue, then it is looked at */

struct work_request {
	uint64_t wr_id;
	const char *what;
	bool signaled;
	bool writes;		/* the device writes into its buffers */
	bool shared;		/* ... and other requests do so, too */
	uint8_t buffers;
	uint32_t end;		/* of a send: the index behind it */
	struct cairn_buffer buffer[WORK_SGES];
	struct cairn_trace posted;
};

/* A send or receive queue or, without requests, a completion queue. */
struct cairn_work {
	struct cairn_work *next;
	struct cairn_queue *queue;
	struct cairn_qp *qp;	/* NULL: of a shared receive queue, or a CQ */
	struct ibv_context *ctx;
	const struct ibv_pd *pd;
	bool receives;
	struct work_request *request;	/* a ring */
	uint32_t size;
	uint32_t first;
	uint32_t count;
	int inside;		/* thread in a call of a CQ for one thread; 0: none */
	int *turn;		/* where that thread is noted; NULL: any may call */
	bool failed;		/* a completion had an error */
	/* receives */
	uint32_t starved;	/* of the device, as reported */
	struct cairn_trace last;	/* where the last one was posted */
	/* CQ */
	uint32_t idle;		/* polls of one thread in a row that found nothing */
	uint32_t owed;		/* signaled sends that were posted and not polled */
	uint32_t events;
	bool expects;		/* receives that are not counted may complete there */
	bool drained;		/* a poll found nothing, since the last event */
	bool armed_late;	/* ... then it was armed, and not polled any more */
};

/* Queues of QPs by the QP number, others in the first bucket. */
static struct cairn_work *works[WORK_BUCKETS];

/* The memory of destroyed QPs. */
static struct cairn_qp *work_graves[WORK_GRAVES];
static size_t work_buried;

static const char *const work_names[CAIRN_WQE_OPCODES] = {
	[CAIRN_WQE_SEND] = "a SEND",
	[CAIRN_WQE_SEND_IMM] = "a SEND with immediate",
	[CAIRN_WQE_SEND_INV] = "a SEND with invalidate",
	[CAIRN_WQE_WRITE] = "an RDMA WRITE",
	[CAIRN_WQE_WRITE_IMM] = "an RDMA WRITE with immediate",
	[CAIRN_WQE_READ] = "an RDMA READ",
	[CAIRN_WQE_CAS] = "a compare and swap",
	[CAIRN_WQE_FAA] = "a fetch and add",
	[CAIRN_WQE_LOCAL_INV] = "a local invalidation",
	[CAIRN_WQE_BIND_MW] = "a bind of a window",
	[CAIRN_WQE_WRITE_PERSIST] = "a WRITE_PERSIST",
	[CAIRN_WQE_FLUSH] = "a FLUSH",
	[CAIRN_WQE_ATOMIC_WRITE] = "an atomic write",
	[CAIRN_WQE_WRITE_PERSIST_IMM] = "a WRITE_PERSIST with immediate",
	[CAIRN_WQE_PERSIST_DONE] = "a PERSIST_DONE",
};

static struct cairn_work **work_bucket(uint32_t qpn)
{
	return &works[qpn % WORK_BUCKETS];
}

static struct cairn_work **work_bucket_of(const struct cairn_work *work)
{
	return work_bucket(work->qp ? work->qp->vqp.qp.qp_num : 0);
}

static struct cairn_work *work_open(struct cairn_queue *queue, uint32_t size)
{
	struct cairn_work *work = calloc(1, sizeof(*work));

	if (!work)
		return NULL;
	work->queue = queue;
	work->size = size;
	work->request = calloc(size ? size : 1, sizeof(*work->request));
	if (!work->request) {
		free(work);
		return NULL;
	}
	return work;
}

/* Makes it reachable. */
static void work_add(struct cairn_work *work)
{
	cairn_check_lock();
	work->next = *work_bucket_of(work);
	*work_bucket_of(work) = work;
	cairn_check_unlock();
	work->queue->check = work;
}

static void work_open_queue_of(struct cairn_qp *qp, struct ibv_pd *pd,
			       struct cairn_queue *queue)
{
	struct cairn_td *td = pd ? to_cpd(pd)->td : NULL;
	struct cairn_work *work;

	if (!queue->ring.units)
		return;
	work = work_open(queue, queue->max_wr);
	if (!work)
		return;
	work->qp = qp;
	work->ctx = qp->vqp.qp.context;
	work->pd = qp->pd;
	work->turn = td ? &td->inside : NULL;
	work->receives = queue == &qp->rq.queue;
	work_add(work);
}

void cairn_work_open_qp(struct cairn_qp *qp, struct ibv_context *ctx, struct ibv_pd *pd)
{
	/* the library sets it after the call */
	qp->vqp.qp.context = ctx;
	work_open_queue_of(qp, pd, &qp->sq);
	work_open_queue_of(qp, pd, &qp->rq.queue);
	/* the rule would hide from the checks what a NIC reads later */
	qp->inline_threshold = 0;
}

void cairn_work_open_srq(struct cairn_srq *srq, struct ibv_pd *pd)
{
	struct cairn_work *work = work_open(&srq->rq.queue, srq->rq.queue.max_wr);

	if (!work)
		return;
	work->ctx = pd->context;
	work->pd = cairn_pd_base(pd);
	work->receives = true;
	work_add(work);
}

void cairn_work_open_cq(struct cairn_cq *cq, struct ibv_context *ctx)
{
	struct cairn_work *work = work_open(&cq->queue, 0);

	if (!work)
		return;
	work->ctx = ctx;
	work->turn = cq->single_threaded ? &work->inside : NULL;
	work_add(work);
	cq->watch |= CAIRN_CQ_CHECKED;
}

void cairn_work_expect(struct cairn_cq *cq)
{
	cairn_check_lock();
	if (cq->queue.check)
		cq->queue.check->expects = true;
	cairn_check_unlock();
}

static struct cairn_work *work_of_cq(struct ibv_cq *cq)
{
	return cq ? to_ccq(cq)->queue.check : NULL;
}

static struct work_request *work_at(const struct cairn_work *work, uint32_t i)
{
	return &work->request[(work->first + i) % work->size];
}

static void work_open_pages(struct work_request *request)
{
	for (uint8_t i = 0; i < request->buffers; i++)
		cairn_buffer_open(&request->buffer[i]);
}

/* The oldest request ends. */
static void work_pop(struct cairn_work *work)
{
	struct work_request *request = work_at(work, 0);
	struct cairn_work *cq = NULL;

	work_open_pages(request);
	if (!work->receives && request->signaled)
		cq = work_of_cq(work->qp->vqp.qp.send_cq);
	if (cq && cq->owed)
		cq->owed--;
	work->first = (work->first + 1) % work->size;
	work->count--;
}

static void work_empty(struct cairn_work *work)
{
	while (work && work->count)
		work_pop(work);
}

static void work_restart(struct cairn_work *work)
{
	if (!work)
		return;
	work_empty(work);
	work->failed = false;
}

void cairn_work_reset_qp(struct cairn_qp *qp)
{
	cairn_check_lock();
	work_restart(qp->sq.check);
	work_restart(qp->rq.queue.check);
	cairn_check_unlock();
}

void cairn_work_close(struct cairn_queue *queue)
{
	struct cairn_work *work = queue->check, **link;

	if (!work)
		return;
	cairn_check_lock();
	work_empty(work);
	link = work_bucket_of(work);
	while (*link != work)
		link = &(*link)->next;
	*link = work->next;
	cairn_check_unlock();
	free(work->request);
	free(work);
	queue->check = NULL;
}

bool cairn_work_bury(struct cairn_qp *qp)
{
	bool room;

	cairn_check_lock();
	room = work_buried < WORK_GRAVES;
	if (room)
		work_graves[work_buried++] = qp;
	cairn_check_unlock();
	return room;
}

/* Copies from a WQE at @index, which may run past the ring's end. */
static void work_read_ring(const struct cairn_ring *ring, uint32_t index,
			   size_t offset, void *to, size_t bytes)
{
	size_t size = (size_t)ring->depth * CAIRN_UNIT_SIZE;
	size_t pos = ((size_t)(index & (ring->depth - 1)) * CAIRN_UNIT_SIZE +
		      offset) & (size - 1);
	size_t head = bytes <= size - pos ? bytes : size - pos;

	memcpy(to, ring->units + pos, head);
	memcpy((uint8_t *)to + head, ring->units, bytes - head);
}

/* A key of device memory or a dma-buf, or of a zero based region, names no address. */
static bool work_is_memory(const struct cairn_work *work, const struct ibv_sge *sge)
{
	return cairn_keys_find(to_cctx(work->ctx)->keys, work->pd, sge) ==
	       (void *)(uintptr_t)sge->addr;
}

/* The queue may have been resized. Without memory the oldest requests are forgotten. */
static void work_grow(struct cairn_work *work)
{
	struct work_request *request;

	if (work->queue->max_wr <= work->size)
		return;
	request = calloc(work->queue->max_wr, sizeof(*request));
	if (!request)
		return;
	for (uint32_t i = 0; i < work->count; i++)
		request[i] = *work_at(work, i);
	free(work->request);
	work->request = request;
	work->size = work->queue->max_wr;
	work->first = 0;
}

/* Room for one more, at the cost of the oldest if the program went beyond the limit. */
static struct work_request *work_push(struct cairn_work *work)
{
	struct work_request *request;

	work_grow(work);
	if (work->count == work->size)
		work_pop(work);
	request = work_at(work, work->count++);
	memset(request, 0, sizeof(*request));
	cairn_trace_take(&request->posted);
	return request;
}

static bool work_sges_overlap(const struct ibv_sge *one, const struct ibv_sge *other)
{
	return one->addr < other->addr + other->length &&
	       other->addr < one->addr + one->length;
}

static bool work_requests_overlap(const struct work_request *one,
				  const struct work_request *other)
{
	for (uint8_t i = 0; i < one->buffers; i++)
		for (uint8_t j = 0; j < other->buffers; j++)
			if (work_sges_overlap(&one->buffer[i].sge, &other->buffer[j].sge))
				return true;
	return false;
}

/* Several requests into the same memory are not told apart by its bytes. */
static void work_find_shared(const struct cairn_work *work, struct work_request *request)
{
	for (uint32_t i = 0; i < work->count; i++) {
		struct work_request *other = work_at(work, i);

		if (other == request || !other->writes || !work_requests_overlap(request, other))
			continue;
		other->shared = true;
		request->shared = true;
	}
}

static void work_find_all_shared(struct work_request *request)
{
	for (size_t i = 0; i < WORK_BUCKETS; i++)
		for (struct cairn_work *work = works[i]; work; work = work->next)
			work_find_shared(work, request);
}

/* Sends are compared at the completion, and the part of receives that is not used. */
static void work_watch_buffer(struct cairn_work *work, struct work_request *request,
			      struct cairn_buffer *buffer)
{
	int access = cairn_region_access(work->ctx, buffer->sge.lkey);

	/* a peer, or another region of the same memory, may write there at any time */
	if (request->writes && (!work->receives || access & IBV_ACCESS_REMOTE_WRITE))
		return;
	if (!work_is_memory(work, &buffer->sge))
		return;
	cairn_buffer_sum(buffer);
	if (request->writes && cairn_report_pages() && !(access & IBV_ACCESS_ON_DEMAND))
		cairn_buffer_close(buffer, &request->posted, request->wr_id);
}

static void work_add_buffers(struct cairn_work *work, struct work_request *request,
			     const struct ibv_sge *sges, size_t num_sge)
{
	struct cairn_region_use use = {
		.ctx = work->ctx, .pd = work->pd, .what = request->what,
		.needs = request->writes ? IBV_ACCESS_LOCAL_WRITE : 0,
	};

	for (size_t i = 0; i < num_sge; i++) {
		struct cairn_buffer *buffer = &request->buffer[request->buffers];

		if (!sges[i].length)
			continue;
		cairn_region_check(&use, &sges[i]);
		if (request->buffers == WORK_SGES)
			continue;
		request->buffers++;
		buffer->sge = sges[i];
		work_watch_buffer(work, request, buffer);
	}
	if (request->writes)
		work_find_all_shared(request);
}

static void work_check_atomic(const struct cairn_send_wqe *wqe)
{
	struct cairn_report report = { .here = true };

	if (wqe->remote_addr % 8)
		cairn_report_write(CAIRN_REPORT_ATOMIC_ALIGNMENT, &report,
				   "%s of remote address 0x%" PRIx64 ", which is no multiple of 8",
				   work_names[wqe->opcode], (uint64_t)wqe->remote_addr);
}

/* A NIC frees the entries of a send queue when a later completion is polled. */
static void work_check_room(struct cairn_work *work)
{
	struct cairn_report report = {
		.first = &work_at(work, 0)->posted,
		.first_title = "oldest of them posted at:", .here = true,
	};
	uint32_t signaled = 0;

	if (work->count < work->queue->max_wr)
		return;
	for (uint32_t i = 0; i < work->count; i++)
		signaled += work_at(work, i)->signaled;
	cairn_report_write(CAIRN_REPORT_SEND_QUEUE_OVERFLOW, &report,
			   "QP %u has max_send_wr %u, and one more request is posted while %s",
			   work->qp->vqp.qp.qp_num, work->queue->max_wr,
			   signaled ? "no completion of them was polled" :
				      "none of them will have a completion");
}

static void work_check_cq(struct cairn_work *work)
{
	struct ibv_cq *cq = work->qp->vqp.qp.send_cq;
	struct cairn_work *checked = work_of_cq(cq);
	struct cairn_report report = { .here = true };

	if (checked && ++checked->owed > (uint32_t)cq->cqe)
		cairn_report_write(CAIRN_REPORT_CQ_OVERFLOW, &report,
				   "%u signaled sends are posted whose completions were not polled, and their CQ has %d entries",
				   checked->owed, cq->cqe);
}

static size_t work_sges_of(const struct cairn_qp *qp, uint32_t index,
			   const struct cairn_send_wqe *wqe, struct ibv_sge *sges)
{
	size_t offset = CAIRN_WQE_DATA_OFFSET;
	uint8_t form = cairn_wqe_op(qp, wqe->opcode)->form;

	if (form == CAIRN_FORM_ATOMIC)
		offset = CAIRN_WQE_ATOMIC_SGE_OFFSET;
	else if (form != CAIRN_FORM_SEND && form != CAIRN_FORM_WRITE &&
		 form != CAIRN_FORM_READ)
		return 0;
	if (wqe->flags & CAIRN_WQE_INLINE || wqe->num_sge > WORK_SGES)
		return 0;
	work_read_ring(&qp->sq.ring, index, offset, sges, wqe->num_sge * sizeof(*sges));
	return wqe->num_sge;
}

/* Something is posted that may complete there. */
static void work_busy(struct ibv_cq *cq)
{
	struct cairn_work *work = work_of_cq(cq);

	if (work)
		work->idle = 0;
}

static void work_send(struct cairn_work *work, uint32_t index,
		      const struct cairn_send_wqe *wqe)
{
	struct ibv_sge sges[WORK_SGES];
	size_t num_sge = work_sges_of(work->qp, index, wqe, sges);
	struct work_request *request;

	work_check_room(work);
	request = work_push(work);
	request->wr_id = wqe->wr_id;
	request->what = work_names[wqe->opcode];
	request->end = index + wqe->units;
	request->signaled = wqe->flags & CAIRN_WQE_SIGNALED;
	request->writes = wqe->opcode == CAIRN_WQE_READ || wqe->opcode == CAIRN_WQE_CAS ||
			  wqe->opcode == CAIRN_WQE_FAA;
	if (request->signaled)
		work_check_cq(work);
	if (wqe->opcode == CAIRN_WQE_CAS || wqe->opcode == CAIRN_WQE_FAA)
		work_check_atomic(wqe);
	work_add_buffers(work, request, sges, num_sge);
	work_busy(work->qp->vqp.qp.send_cq);
}

void cairn_work_sent(struct cairn_qp *qp, uint32_t start)
{
	const struct cairn_send_wqe *wqe;

	cairn_check_lock();
	for (uint32_t i = start; i != qp->sq.ring.index; i += wqe->units) {
		wqe = cairn_ring_unit(&qp->sq.ring, i);
		work_send(qp->sq.check, i, wqe);
	}
	cairn_check_unlock();
}

static void work_check_overlap(const struct cairn_work *work,
			       const struct work_request *request)
{
	for (uint32_t i = 0; i + 1 < work->count; i++) {
		const struct work_request *other = work_at(work, i);
		struct cairn_report report = {
			.first = &other->posted, .first_title = "the other posted at:",
			.here = true,
		};

		if (!work_requests_overlap(request, other))
			continue;
		cairn_report_write(CAIRN_REPORT_RECEIVES_OVERLAP, &report,
				   "a receive (wr_id 0x%" PRIx64 ") is posted into memory of another one (0x%" PRIx64 ")",
				   request->wr_id, other->wr_id);
		return;
	}
}

/* The device found the queue empty when a message came. */
static void work_check_late(struct cairn_work *work)
{
	uint32_t starved = cairn_ring_load(&work->queue->ring.dev->starved);
	uint32_t times = starved - work->starved;
	struct cairn_report report = {
		.first = &work->last, .first_title = "the receive before it posted at:",
		.here = true,
	};

	work->starved = starved;
	if (!times || (work->qp && work->qp->vqp.qp.state == IBV_QPS_INIT))
		return;
	if (!work->last.depth)
		report.first = NULL;
	cairn_report_write(CAIRN_REPORT_RECEIVE_LATE, &report,
			   "a receive is posted to %s, which was empty when a message came, %u times since the last one was posted",
			   work->qp ? "a receive queue" : "a shared receive queue", times);
}

void cairn_work_received(struct cairn_rq *rq, uint32_t start)
{
	const struct cairn_ring *ring = &rq->queue.ring;
	struct cairn_work *work = rq->queue.check;
	struct ibv_sge sges[WORK_SGES];

	cairn_check_lock();
	work_check_late(work);
	for (uint32_t i = start; i != ring->index; i += ring->stride) {
		const struct cairn_recv_wqe *wqe = cairn_ring_unit(ring, i);
		size_t num_sge = wqe->num_sge < WORK_SGES ? wqe->num_sge : WORK_SGES;
		struct work_request *request = work_push(work);

		request->wr_id = wqe->wr_id;
		request->what = "a receive";
		request->signaled = true;
		request->writes = true;
		work->last = request->posted;
		work_read_ring(ring, i, CAIRN_RECV_SGE_OFFSET, sges, num_sge * sizeof(*sges));
		work_add_buffers(work, request, sges, num_sge);
		if (cairn_report_strict())
			work_check_overlap(work, request);
	}
	if (work->qp)
		work_busy(work->qp->vqp.qp.recv_cq);
	cairn_check_unlock();
}

void cairn_work_refused(struct cairn_qp *qp, int err)
{
	struct cairn_work *work = qp->sq.check;

	if (err != ENOMEM || !work || !work->count)
		return;
	cairn_check_lock();
	work_check_room(work);
	cairn_check_unlock();
}

/* @message: bytes of a receive's buffers that the device has written. */
static void work_verify(const struct work_request *request, size_t message)
{
	struct cairn_report report = {
		.first = &request->posted, .first_title = "posted at:", .here = true,
	};
	enum cairn_report_code code = request->writes ? CAIRN_REPORT_RECEIVE_BUFFER_USED :
							CAIRN_REPORT_SEND_BUFFER_CHANGED;

	for (uint8_t i = 0; i < request->buffers; i++) {
		const struct cairn_buffer *buffer = &request->buffer[i];
		int part = cairn_buffer_compare(buffer, message);

		message -= message < buffer->sge.length ? message : buffer->sge.length;
		if (!part)
			continue;
		if (part < 0)
			cairn_report_write(CAIRN_REPORT_BUFFER_UNMAPPED, &report,
					   "the buffer of %s (wr_id 0x%" PRIx64 ", %u bytes at 0x%" PRIx64 ") was unmapped between its post and its completion",
					   request->what, request->wr_id, buffer->sge.length,
					   buffer->sge.addr);
		else
			cairn_report_write(code, &report,
					   "the buffer of %s (wr_id 0x%" PRIx64 ", %u bytes at 0x%" PRIx64 ") changed between its post and its completion, in part %d of %d%s",
					   request->what, request->wr_id, buffer->sge.length,
					   buffer->sge.addr, part, CAIRN_BUFFER_SUMS,
					   request->writes ? ", behind the message" : "");
		return;
	}
}

/* Sends complete in order, and a completion is that of all before it, too. */
static void work_complete_send(struct cairn_work *work, const struct cairn_cqe *cqe)
{
	bool failed = cqe->status != CAIRN_CQE_SUCCESS;
	struct work_request *request = NULL;
	uint32_t n;

	for (n = 0; n < work->count; n++) {
		request = work_at(work, n);
		if (request->wr_id == cqe->wr_id && (request->signaled || failed))
			break;
	}
	work->failed |= failed;
	if (n == work->count)
		return;
	for (uint32_t i = 0; i <= n; i++) {
		if (!failed)
			work_verify(work_at(work, 0), 0);
		work_pop(work);
	}
}

/* Receives of a shared queue complete in any order. */
static void work_complete_receive(struct cairn_work *work, const struct cairn_cqe *cqe)
{
	struct work_request *request;
	uint32_t n = 0;

	work->failed |= cqe->status != CAIRN_CQE_SUCCESS;
	while (n < work->count && work_at(work, n)->wr_id != cqe->wr_id)
		n++;
	if (n == work->count)
		return;
	request = work_at(work, n);
	work_open_pages(request);
	if (cqe->status == CAIRN_CQE_SUCCESS && !request->shared)
		work_verify(request, cqe->opcode == CAIRN_CQE_RECV ? cqe->byte_len : 0);
	for (; n > 0; n--)
		*work_at(work, n) = *work_at(work, n - 1);
	work_pop(work);
}

void cairn_work_enter(struct cairn_queue *queue)
{
	struct cairn_work *work = queue->check;
	int none = 0, self = (int)syscall(SYS_gettid);
	struct cairn_report report = { .here = true };

	if (!work || !work->turn ||
	    __atomic_compare_exchange_n(work->turn, &none, self, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE) || none == self)
		return;
	cairn_check_lock();
	cairn_report_write(CAIRN_REPORT_THREADS_OVERLAP, &report,
			   "thread %d uses %s while thread %d is in a call for it: they were created for one thread at a time",
			   self, work->turn == &work->inside ? "a CQ" :
			   "objects of a thread domain", none);
	cairn_check_unlock();
}

void cairn_work_leave(struct cairn_queue *queue)
{
	struct cairn_work *work = queue->check;
	int self = (int)syscall(SYS_gettid);

	if (work && work->turn)
		__atomic_compare_exchange_n(work->turn, &self, 0, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
}

static struct cairn_work *work_of_qp(const struct cairn_cq *cq, uint32_t qpn)
{
	struct cairn_work *work = *work_bucket(qpn);

	while (work && !(work->qp && work->qp->vqp.qp.qp_num == qpn &&
			 work->ctx == cq->vcq.cq.context))
		work = work->next;
	return work;
}

void cairn_work_polled(struct cairn_cq *cq, const struct cairn_cqe *cqe)
{
	struct cairn_work *work;
	struct cairn_qp *qp;

	cairn_work_enter(&cq->queue);
	cairn_check_lock();
	cq->queue.check->idle = 0;
	work = work_of_qp(cq, cqe->qpn);
	if (work) {
		qp = work->qp;
		if (cqe->opcode < CAIRN_CQE_RECV)
			work = qp->sq.check;
		else if (qp->vqp.qp.srq)
			work = to_csrq(qp->vqp.qp.srq)->rq.queue.check;
		else
			work = qp->rq.queue.check;
	}
	if (work && work->receives)
		work_complete_receive(work, cqe);
	else if (work)
		work_complete_send(work, cqe);
	cairn_check_unlock();
	cairn_work_leave(&cq->queue);
}

/* Whether completions may come that were posted for already. */
static bool work_may_complete(const struct cairn_work *work, const struct ibv_cq *cq)
{
	const struct ibv_qp *qp = work->qp ? &work->qp->vqp.qp : NULL;

	if (!work->receives || !work->count)
		return false;
	return !qp || (qp->recv_cq == cq && qp->state != IBV_QPS_INIT);
}

static bool work_cq_waits(const struct cairn_cq *cq)
{
	if (cq->queue.check->owed)
		return true;
	for (size_t i = 0; i < WORK_BUCKETS; i++)
		for (struct cairn_work *work = works[i]; work; work = work->next)
			if (work_may_complete(work, &cq->vcq.cq))
				return true;
	return false;
}

/* Sends of @work that are done, and will have no completion there. */
static bool work_is_silent(const struct cairn_work *work, const struct ibv_cq *cq)
{
	const struct cairn_ring *ring = &work->queue->ring;

	return work->qp && !work->receives && work->qp->vqp.qp.send_cq == cq && work->count &&
	       cairn_ring_load(&ring->dev->index) == cairn_ring_load(&ring->host->index);
}

static bool work_has_failed(const struct cairn_work *work, const struct ibv_cq *cq)
{
	return work->qp && work->failed && !work->count &&
	       cq == (work->receives ? work->qp->vqp.qp.recv_cq : work->qp->vqp.qp.send_cq);
}

/* Sends without a completion of their own that are not done yet: they may fail. */
static bool work_is_running(const struct cairn_work *work, const struct ibv_cq *cq)
{
	return work->qp && !work->receives && work->qp->vqp.qp.send_cq == cq && work->count &&
	       !work_is_silent(work, cq);
}

static const struct cairn_work *work_find(bool (*fits)(const struct cairn_work *work,
						      const struct ibv_cq *cq),
					  const struct cairn_cq *cq)
{
	for (size_t i = 0; i < WORK_BUCKETS; i++)
		for (const struct cairn_work *work = works[i]; work; work = work->next)
			if (fits(work, &cq->vcq.cq))
				return work;
	return NULL;
}

/* Nothing came for long. Can anything come? */
static void work_check_idle(const struct cairn_cq *cq)
{
	const struct cairn_work *silent = work_find(work_is_silent, cq);
	const struct cairn_work *failed = work_find(work_has_failed, cq);
	struct cairn_report report = { .here = true };

	if (cq->queue.check->expects || work_cq_waits(cq) ||
	    work_find(work_is_running, cq))
		return;
	if (silent) {
		report.first = &work_at(silent, silent->count - 1)->posted;
		report.first_title = "the last of them posted at:";
		cairn_report_write(CAIRN_REPORT_POLL_ENDLESS, &report,
				   "an empty CQ was polled %u times in a row, and no completion will come: %u sends of QP %u are done, without IBV_SEND_SIGNALED",
				   WORK_IDLE_POLLS, silent->count, silent->qp->vqp.qp.qp_num);
	} else if (failed) {
		cairn_report_write(CAIRN_REPORT_POLL_ENDLESS, &report,
				   "an empty CQ was polled %u times in a row, and no completion will come: QP %u has failed, and its completions were polled",
				   WORK_IDLE_POLLS, failed->qp->vqp.qp.qp_num);
	}
}

void cairn_work_looked(struct cairn_cq *cq, bool drained)
{
	/* a thread that looks at several queues waits for none of them alone */
	static __thread const struct cairn_work *before;
	struct cairn_work *work = cq->queue.check;

	work->armed_late = false;
	work->drained |= drained;
	if (before != work)
		work->idle = 0;
	before = work;
	if (!drained || ++work->idle < WORK_IDLE_POLLS)
		return;
	work->idle = 0;
	cairn_check_lock();
	work_check_idle(cq);
	cairn_check_unlock();
}

/* Completions that come between the last poll and the arming raise no event on a NIC. */
void cairn_work_armed(struct cairn_cq *cq)
{
	struct cairn_work *work = cq->queue.check;

	cairn_check_lock();
	work->armed_late = work->drained && work_cq_waits(cq);
	cairn_check_unlock();
}

void cairn_work_notified(struct cairn_cq *cq)
{
	struct cairn_work *work = cq->queue.check;
	struct cairn_report report = { .here = true };

	cairn_check_lock();
	if (work->armed_late)
		cairn_report_write(CAIRN_REPORT_CQ_ARM_RACE, &report,
				   "the CQ was polled to its end, then armed, and its event was awaited without another poll");
	work->armed_late = false;
	work->drained = false;
	work->events++;
	cairn_check_unlock();
}

uint32_t cairn_work_events(const struct cairn_cq *cq)
{
	return cq->queue.check->events;
}

static void work_check_region(const struct cairn_work *work, const struct ibv_mr *mr)
{
	for (uint32_t i = 0; i < work->count; i++) {
		const struct work_request *request = work_at(work, i);
		struct cairn_report report = {
			.first = &request->posted, .first_title = "posted at:", .here = true,
		};

		for (uint8_t j = 0; j < request->buffers; j++) {
			if (request->buffer[j].sge.lkey != mr->lkey)
				continue;
			cairn_report_write(CAIRN_REPORT_REGION_IN_USE, &report,
					   "the region of key 0x%x is deregistered, and %s (wr_id 0x%" PRIx64 ") still uses it",
					   mr->lkey, request->what, request->wr_id);
			return;
		}
	}
}

/* A QP in an error state does not touch memory any more. */
static bool work_runs(const struct cairn_work *work)
{
	return !work->qp || (work->qp->vqp.qp.state != IBV_QPS_ERR &&
			     work->qp->vqp.qp.state != IBV_QPS_RESET);
}

void cairn_work_check_region(const struct ibv_mr *mr)
{
	for (size_t i = 0; i < WORK_BUCKETS; i++)
		for (struct cairn_work *work = works[i]; work; work = work->next)
			if (work->ctx == mr->context && work_runs(work))
				work_check_region(work, mr);
}

static uint32_t work_count_unpolled(const struct cairn_cq *cq, uint32_t qpn)
{
	const struct cairn_ring *ring = &cq->queue.ring;
	uint32_t end = __atomic_load_n(&ring->dev->index, __ATOMIC_ACQUIRE), n = 0;

	for (uint32_t i = ring->index; i != end; i++) {
		const struct cairn_cqe *cqe = cairn_ring_unit(ring, i);

		n += cqe->qpn == qpn && cqe->status == CAIRN_CQE_SUCCESS;
	}
	return n;
}

/* Requests that the device has done left with the right bytes. */
void cairn_work_check_left(struct ibv_qp *qp)
{
	const struct cairn_work *work = to_cqp(qp)->sq.check;
	const struct cairn_qinfo_dev *dev = to_cqp(qp)->sq.ring.dev;

	if (!work || work->failed || cairn_ring_load(&dev->state) != CAIRN_QUEUE_READY)
		return;
	for (uint32_t i = 0; i < work->count; i++)
		if ((int32_t)(work_at(work, i)->end - cairn_ring_load(&dev->index)) > 0)
			work_verify(work_at(work, i), 0);
}

void cairn_work_check_unpolled(const struct ibv_qp *qp)
{
	struct cairn_report report = { .here = true };
	uint32_t n = 0;

	if (qp->send_cq)
		n = work_count_unpolled(to_ccq(qp->send_cq), qp->qp_num);
	if (qp->recv_cq && qp->recv_cq != qp->send_cq)
		n += work_count_unpolled(to_ccq(qp->recv_cq), qp->qp_num);
	if (n)
		cairn_report_write(CAIRN_REPORT_COMPLETIONS_UNPOLLED, &report,
				   "QP %u is destroyed with %u completions that were not polled",
				   qp->qp_num, n);
}
