// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log_medium.h"
#include "log_sim.h"
#include "send.h"

#define SUBSETS		5	/* up to so many differing words all subsets are tried */
#define SAMPLES		6	/* random subsets otherwise */

struct sim *sim;

/* splitmix64 */
uint32_t sim_below(uint32_t n)
{
	uint64_t z = (sim->random += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (uint32_t)((z ^ (z >> 31)) % n);
}

static uint8_t *sim_view(struct sim_target *target)
{
	return target->mode == SIM_FILE ? target->memory : target->cache;
}

static void sim_touch(struct sim_target *target, uint64_t offset,
		      uint64_t length)
{
	for (uint64_t i = offset / SIM_LINE;
	     i * SIM_LINE < offset + length && i < SIM_LINES; i++)
		target->touched[i] = true;
	target->changed = true;
}

/* ---- images ---- */

struct sim_piece {
	uint32_t offset, length;	/* up to 8 bytes */
	uint64_t old;
};

static uint32_t sim_pieces(struct sim_target *target, struct sim_piece *pieces,
			   uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SIM_LINES; i++) {
		if (!target->touched[i] || target->lost[i])
			continue;
		target->touched[i] = false;
		for (uint32_t at = i * SIM_LINE; at < (i + 1) * SIM_LINE;
		     at += 8) {
			if (!memcmp(target->cache + at, target->medium + at, 8))
				continue;
			target->touched[i] = true;
			if (n < max)
				pieces[n++] = (struct sim_piece){ at, 8, 0 };
		}
	}
	return n;
}

static void sim_apply(struct sim_target *target, struct sim_piece *piece)
{
	memcpy(&piece->old, target->medium + piece->offset, 8);
	memcpy(target->medium + piece->offset, target->cache + piece->offset,
	       piece->length);
}

static void sim_revert(struct sim_target *target, const struct sim_piece *piece)
{
	memcpy(target->medium + piece->offset, &piece->old, 8);
}

/*
 * Chooses the pieces that have reached the medium in this image. Now and then a word is
 * torn, which the format allows.
 */
static void sim_choose(const struct sim_piece *pieces, uint32_t n,
		       uint32_t sample, bool *in, struct sim_piece *torn)
{
	uint32_t kind = sim_below(4), line = 0, pick = 0;

	for (uint32_t i = 0; i < n; i++) {
		switch (n <= SUBSETS ? 4 : kind) {
		case 0:		/* whole lines */
			if (!i || pieces[i].offset / SIM_LINE != line)
				pick = sim_below(2);
			line = pieces[i].offset / SIM_LINE;
			in[i] = pick;
			break;
		case 1:		/* nearly all */
			in[i] = sim_below(n) != 0;
			break;
		case 4:
			in[i] = sample >> i & 1;
			break;
		default:
			in[i] = sim_below(2);
			break;
		}
		torn[i] = pieces[i];
		if (in[i] && !sim_below(16))
			torn[i].length = sim_below(8);
	}
}

/* The block in which a write was cut short, if this one is damaged. */
static uint8_t *sim_damage(struct sim_target *target,
			   const struct sim_piece *pieces, uint32_t n,
			   uint8_t *saved)
{
	uint8_t *block;

	if (!sim->block || target->mode != SIM_FILE || !n || sim_below(3))
		return NULL;
	block = target->medium + pieces[sim_below(n)].offset / sim->block *
				 sim->block;
	memcpy(saved, block, sim->block);
	for (uint32_t i = 0; i < sim->block; i++)
		block[i] = (uint8_t)sim_below(256);
	return block;
}

static void sim_image(struct sim_target *target)
{
	struct sim_piece pieces[256], torn[256];
	uint32_t n = sim_pieces(target, pieces, 256);
	uint32_t samples = n <= SUBSETS ? 1u << n : SAMPLES;
	uint8_t saved[SIM_BLOCK], *damaged;
	bool in[256];

	for (uint32_t sample = 0; sample < samples && !sim->failed; sample++) {
		sim_choose(pieces, n, sample, in, torn);
		for (uint32_t i = 0; i < n; i++)
			if (in[i])
				sim_apply(target, &torn[i]);
		damaged = sim_damage(target, pieces, n, saved);
		sim->images++;
		sim->failed = !sim->check(target);
		if (damaged)
			memcpy(damaged, saved, sim->block);
		for (uint32_t i = n; i-- > 0;)
			if (in[i])
				sim_revert(target, &torn[i]);
	}
}

void sim_images(void)
{
	for (int i = 0; i < sim->num_targets && !sim->failed; i++) {
		if (!sim->targets[i].changed)
			continue;
		sim->targets[i].changed = false;
		sim->targets[i].lacks = false;
		sim_image(&sim->targets[i]);
	}
	if (sim->check_all && !sim->failed)
		sim->failed = !sim->check_all();
}

/* ---- media ---- */

static void sim_flush_line(struct sim_target *target, uint32_t line)
{
	memcpy(target->medium + line * SIM_LINE,
	       target->cache + line * SIM_LINE, SIM_LINE);
}

static void sim_write_back(struct sim_target *target, uint64_t offset,
			   uint64_t length)
{
	uint32_t first = (uint32_t)(offset / SIM_LINE);
	uint32_t end = (uint32_t)((offset + length + SIM_LINE - 1) / SIM_LINE);

	sim_touch(target, offset, length);
	sim_images();
	for (uint32_t i = first; i < end && i < SIM_LINES; i++)
		sim_flush_line(target, i);
	target->changed = true;
	sim_images();
}

/* After a failure the kernel marks pages as clean that are not on the disk. */
static int sim_fdatasync(struct sim_target *target)
{
	bool fails = target->fails;

	for (uint32_t i = 0; i < SIM_LINES; i++) {
		if (!target->touched[i] || target->lost[i])
			continue;
		if (!fails || sim_below(2))
			sim_flush_line(target, i);
		else
			target->lost[i] = true;
	}
	target->fails = false;
	target->changed = true;
	sim_images();
	return fails ? EIO : 0;
}

static void sim_place(struct sim_target *target, struct sim_conn *conn)
{
	struct sim_request *request = &conn->queue[conn->placed % SIM_QUEUE];
	uint32_t n = 8 * (1 + sim_below(20));

	if (n > request->length - request->placed)
		n = request->length - request->placed;
	memcpy(sim_view(target) + request->offset + request->placed,
	       request->bytes + request->placed, n);
	if (target->mode == SIM_PMEM)
		sim_touch(target, request->offset + request->placed, n);
	request->placed += n;
	conn->placed += request->placed == request->length;
}

/* The NIC goes on while the program is in a call. */
static void sim_meanwhile(struct sim_target *target)
{
	struct sim_conn *conn = &target->conns[sim_below(SIM_CONNS)];
	struct sim_request *request;

	if (sim->quiet || !conn->alive || target->hung)
		return;
	for (uint32_t n = sim_below(8); n; n--) {
		if (conn->placed < conn->head) {
			sim_place(target, conn);
		} else if (target->mode == SIM_PMEM &&
			   conn->flushed < conn->placed) {
			request = &conn->queue[conn->flushed % SIM_QUEUE];
			sim_write_back(target, request->offset,
				       request->length);
			conn->flushed++;
		}
	}
}

static int sim_persist(void *medium, uint64_t offset, uint64_t length)
{
	struct sim_target *target = medium;

	sim_meanwhile(target);

	if (offset > SIM_SIZE || length > SIM_SIZE - offset) {
		sim->failed = true;
		return EFAULT;
	}
	if (target->mode == SIM_PMEM) {
		sim_write_back(target, offset, length);
		return 0;
	}
	memcpy(target->cache + offset, target->memory + offset, length);
	for (uint64_t i = offset / SIM_LINE;
	     i * SIM_LINE < offset + length && i < SIM_LINES; i++)
		target->lost[i] = false;
	sim_touch(target, offset, length);
	sim_images();
	return sim_fdatasync(target);
}

static void sim_drop(struct sim_conn *conn)
{
	conn->alive = false;
	conn->head = conn->flushed;
	conn->placed = conn->flushed;
}

static void sim_fence(void *medium)
{
	struct sim_target *target = medium;

	for (int i = 0; i < SIM_CONNS; i++)
		sim_drop(&target->conns[i]);
}

static const struct log_target_ops sim_target_ops = {
	.persist = sim_persist,
	.fence = sim_fence,
};

void sim_target_init(struct sim_target *target, enum sim_mode mode)
{
	memset(target, 0, sizeof(*target));
	target->mode = mode;
	target->lock = -1;
	target->file = memfd_create("medium", MFD_CLOEXEC);
	sim_target_start(target);
}

/* The process's own open file, locked; or -1. */
static int sim_target_lock(const struct sim_target *target)
{
	struct log_medium medium = { .kind = LOG_MEDIUM_FILE };
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", target->file);
	medium.fd = open(path, O_RDWR | O_CLOEXEC);
	if (medium.fd < 0 || !log_medium_lock(&medium))
		return medium.fd;
	close(medium.fd);
	return -1;
}

static void sim_target_unlock(struct sim_target *target)
{
	if (target->lock >= 0)
		close(target->lock);
	target->lock = -1;
}

void sim_target_start(struct sim_target *target)
{
	sim_target_unlock(target);
	target->lock = sim_target_lock(target);
	sim->failed |= target->lock < 0;
	target->hung = false;
	memcpy(target->memory, target->cache, SIM_USED);
	target->up = !log_target_open(&target->core, &sim_target_ops, target,
				      sim_view(target), SIM_SIZE);
}

void sim_target_start_second(struct sim_target *target)
{
	int lock = sim_target_lock(target);

	if (lock >= 0)
		close(lock);
	/* two would write over what the other one has reported */
	sim->failed |= lock >= 0 && target->lock >= 0;
}

void sim_target_kill(struct sim_target *target)
{
	sim_fence(target);
	sim_target_unlock(target);
	target->up = false;
	target->hung = false;
}

void sim_target_close(struct sim_target *target)
{
	sim_target_unlock(target);
	close(target->file);
}

void sim_target_crash(struct sim_target *target)
{
	struct sim_piece pieces[256], torn[256];
	uint32_t n = sim_pieces(target, pieces, 256);
	uint8_t saved[SIM_BLOCK];
	bool in[256];

	sim_target_kill(target);
	sim_choose(pieces, n, sim_below(1 << SUBSETS), in, torn);
	for (uint32_t i = 0; i < n; i++)
		if (in[i])
			sim_apply(target, &torn[i]);
	sim_damage(target, pieces, n, saved);
	memcpy(target->cache, target->medium, SIM_USED);
	memset(target->touched, 0, sizeof(target->touched));
	memset(target->lost, 0, sizeof(target->lost));
	target->fails = false;
	target->changed = true;
}

/* Reports that were not read yet are lost with the machine. */
static void sim_target_forget(struct sim_target *target)
{
	sim_target_kill(target);
	memset(target->conns, 0, sizeof(target->conns));
	memset(target->touched, 0, sizeof(target->touched));
	memset(target->lost, 0, sizeof(target->lost));
	target->fails = false;
	target->changed = true;
}

void sim_target_replace(struct sim_target *target)
{
	sim_target_forget(target);
	memset(target->cache, 0, SIM_USED);
	memset(target->medium, 0, SIM_USED);
	target->valid = false;
}

void sim_target_swap(struct sim_target *target)
{
	bool valid = target->valid;

	sim_target_crash(target);
	sim_target_forget(target);
	memcpy(target->medium, target->spare, SIM_USED);
	memcpy(target->spare, target->cache, SIM_USED);
	memcpy(target->cache, target->medium, SIM_USED);
	target->valid = target->spare_valid;
	target->spare_valid = valid;
}

/* ---- queue pairs at a target ---- */

static void sim_flush(struct sim_target *target, struct sim_conn *conn)
{
	struct sim_request *request = &conn->queue[conn->flushed % SIM_QUEUE];

	if (target->mode == SIM_PMEM) {
		sim_write_back(target, request->offset, request->length);
	} else if (log_target_flush(&target->core, request->offset,
				    request->length)) {
		conn->broken = true;	/* refused: the queue pair is in error */
		conn->alive = false;
		return;
	}
	conn->flushed++;
}

void sim_step(void)
{
	struct sim_target *target = &sim->targets[sim_below(sim->num_targets)];
	struct sim_conn *conn = &target->conns[sim_below(SIM_CONNS)];

	sim->clock++;
	if (conn->alive && !target->hung) {
		if (conn->flushed < conn->placed && sim_below(2))
			sim_flush(target, conn);
		else if (conn->placed < conn->head)
			sim_place(target, conn);
	}
	sim_images();
}

/* ---- a session's links ---- */

static struct sim_conn *sim_link_conn(const struct sim_link *link)
{
	struct sim_conn *conn = &link->target->conns[link->conn];

	return link->serial && conn->serial == link->serial ? conn : NULL;
}

/* Events happen meanwhile; the answer may be lost. */
static int sim_link_passes(const struct sim_link *link)
{
	if (!sim->quiet)
		for (uint32_t n = sim_below(6); n; n--)
			sim_step();
	if (sim->failed)
		return ECANCELED;
	if (!sim->quiet && !sim_below(200))
		return ETIMEDOUT;
	if (!link->target->up)
		return ECONNREFUSED;
	return link->target->hung ? ETIMEDOUT : 0;
}

static void sim_link_ask(const struct sim_link *link,
			 const struct log_ask *ask, struct log_answer *answer)
{
	log_target_ask(&link->target->core, ask, sizeof(*ask), answer);
	answer->domain = link->target->mode == SIM_FILE ? CAIRNDV_DOMAIN_HOST :
							  CAIRNDV_DOMAIN_PMEM;
	if (link->target->emulated)
		answer->domain = CAIRNDV_DOMAIN_EMULATED;
}

static int sim_link_probe(void *ctx, const struct log_ask *ask,
			  struct log_answer *answer, bool wait)
{
	struct sim_link *link = ctx;
	int err;

	if (!sim->quiet && sim_below(wait ? 4 : 30))
		return EAGAIN;
	err = sim_link_passes(link);
	if (!err)
		sim_link_ask(link, ask, answer);
	return err;
}

static void sim_link_accept(struct sim_link *link)
{
	struct sim_target *target = link->target;
	int oldest = 0;

	for (int i = 1; i < SIM_CONNS; i++)
		if (target->conns[i].serial < target->conns[oldest].serial)
			oldest = i;
	memset(&target->conns[oldest], 0, sizeof(target->conns[oldest]));
	target->conns[oldest].alive = true;
	target->conns[oldest].serial = ++sim->serial;
	link->conn = oldest;
	link->serial = sim->serial;
	link->broken = false;
	link->sent = 0;
	link->answered = 0;
}

static int sim_link_claim(void *ctx, const struct log_ask *ask,
			  struct log_answer *answer, uint32_t ms)
{
	struct sim_link *link = ctx;
	int err = sim_link_passes(link);

	(void)ms;

	if (err)
		return err;
	sim_link_ask(link, ask, answer);
	if (answer->verdict == LOG_GRANTED)
		sim_link_accept(link);
	return sim_link_passes(link);
}

static int sim_link_use(struct sim_link *link, struct sim_conn **conn)
{
	int err = sim_link_passes(link);

	/* a target that hangs takes requests and does not answer */
	if (err && !(link->target->up && link->target->hung))
		return err;
	*conn = sim_link_conn(link);
	return *conn && (*conn)->alive && !(*conn)->broken ? 0 : ECONNRESET;
}

static int sim_link_read(void *ctx, uint64_t offset, void *buffer,
			 uint32_t length)
{
	struct sim_link *link = ctx;
	struct sim_conn *conn;
	int err = sim_link_use(link, &conn);

	if (err)
		return err;
	if (link->target->hung)
		return ETIMEDOUT;
	memcpy(buffer, sim_view(link->target) + offset, length);
	return 0;
}

static void sim_enqueue(struct sim_conn *conn, uint64_t offset,
			const void *bytes, uint32_t length, bool own)
{
	struct sim_request *request = &conn->queue[conn->head++ % SIM_QUEUE];

	request->offset = offset;
	request->length = length;
	request->placed = 0;
	request->own = own;
	memcpy(request->bytes, bytes, length);
}

static int sim_link_write(void *ctx, uint64_t offset, const void *buffer,
			  uint32_t length)
{
	struct sim_link *link = ctx;
	struct sim_conn *conn;
	int err;

	if (length > SIM_WRITE || offset + length > SIM_USED)
		return EINVAL;
	err = sim_link_use(link, &conn);
	if (err)
		return err;
	while (sim->quiet && !link->target->hung &&
	       conn->head - conn->flushed == SIM_QUEUE)
		sim_step();
	if (conn->head - conn->flushed == SIM_QUEUE)
		return ENOMEM;
	sim_enqueue(conn, offset, buffer, length, true);
	return 0;
}

/* The writer sees the next completion. */
static bool sim_link_tell(struct sim_link *link, struct sim_conn *conn)
{
	bool own;

	if (conn->told == conn->flushed)
		return false;
	own = conn->queue[conn->told++ % SIM_QUEUE].own;
	conn->own += own;
	link->answered += !own;
	return true;
}

static int sim_link_poll(void *ctx, uint64_t *completed)
{
	struct sim_link *link = ctx;
	struct sim_conn *conn;
	int err = sim_link_use(link, &conn);

	/* completions that were there before the error come first */
	if (err && err != ECONNRESET)
		return err;
	if (err && (!conn || conn->told == conn->flushed || sim_below(2)))
		return err;
	if (sim->quiet && !link->target->hung)
		while (conn->alive && conn->flushed < conn->head)
			sim_step();
	for (uint32_t n = 1 + sim_below(8); n && sim_link_tell(link, conn); n--)
		;
	*completed = conn->own;
	return 0;
}

void sim_link_leave(struct sim_link *link)
{
	struct sim_conn *conn = sim_link_conn(link);

	if (!conn || !conn->alive || link->target->hung)
		return;
	sim_drop(conn);
	log_target_release(&link->target->core);
}

/* ---- records: the provider's groups on simulated queue pairs ---- */

#define SIM_ADDR	0x100000000u	/* address of a log at a target */

static void sim_link_path(void *ctx, struct log_path *path)
{
	struct sim_link *link = ctx;

	*path = (struct log_path){
		.qp = &link->qp, .addr = SIM_ADDR,
		.rkey = (uint32_t)link->serial,
	};
}

static void sim_link_watch(void *ctx)
{
	(void)ctx;
	if (!sim->quiet && !sim_below(4))
		sim_step();
}

static void sim_link_lost(void *ctx, int err, uint32_t status)
{
	struct sim_link *link = ctx;

	link->lost++;
	sim->failed |= !err && status == IBV_WC_SUCCESS;
}

/* Requests on their way may arrive after that, but the writer learns nothing of it. */
static void sim_link_close(void *ctx)
{
	struct sim_link *link = ctx;

	if (sim->quiet || sim_below(2))
		sim_link_leave(link);
	link->serial = 0;
}

static uint64_t sim_link_now(void)
{
	return sim->clock++;
}

bool cairndv_is_supported(struct ibv_device *device)
{
	(void)device;
	return true;
}

/* Room comes back with completions. */
int cairn_send_check(struct ibv_qp *qp, const struct ibv_send_wr *wr)
{
	const struct sim_link *link = qp->qp_context;

	(void)wr;
	if (!sim->quiet && !sim_below(50))
		return ENOMEM;	/* as if the queue were shorter */
	return link->sent - link->answered == SIM_QUEUE ? ENOMEM : 0;
}

/* A post to a queue pair in error completes with an error. */
int cairn_send_put(struct ibv_qp *qp, const struct ibv_send_wr *wr,
		   uint32_t *index)
{
	struct sim_link *link = qp->qp_context;
	struct sim_conn *conn = sim_link_conn(link);
	uint64_t offset = wr->wr.rdma.remote_addr - SIM_ADDR;
	uint32_t length = wr->sg_list->length;

	if (wr->opcode != CAIRNDV_WR_WRITE_PERSIST ||
	    wr->wr.rdma.rkey != link->serial || length > SIM_WRITE ||
	    offset + length > SIM_USED ||
	    link->sent - link->answered == SIM_QUEUE) {
		sim->failed = true;
		return EINVAL;
	}
	link->wr_ids[link->sent++ % SIM_QUEUE] = wr->wr_id;
	*index = link->sent;
	if (conn && conn->alive && !link->broken)
		sim_enqueue(conn, offset,
			    (const void *)(uintptr_t)wr->sg_list->addr, length,
			    false);
	return 0;
}

uint64_t cairn_send_wake_all(struct ibv_qp *const *qp, const uint32_t *index,
			     uint64_t which)
{
	(void)qp;
	(void)index;
	(void)which;
	return 0;
}

/* A connection ends; the writer may see that later. */
static bool sim_link_ends(struct sim_link *link, const struct sim_conn *conn)
{
	if (!conn || !conn->alive || conn->broken)
		link->broken |= sim->quiet || !sim_below(3);
	else
		link->broken |= !sim->quiet && !sim_below(300);
	return link->broken;
}

static bool sim_link_complete(struct sim_link *link, struct ibv_wc *wc)
{
	struct sim_conn *conn = sim_link_conn(link);

	if (link->answered == link->sent)
		return false;
	if (sim->quiet && !link->target->hung)
		while (conn && conn->alive && conn->flushed < conn->head)
			sim_step();
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = link->wr_ids[link->answered % SIM_QUEUE];
	if (!link->broken && conn && conn->told < conn->flushed) {
		if (!sim->quiet && sim_below(2))
			return false;
		/* read by the call of the provider in log_sim_group.c */
		wc->vendor_err = link->target->lies ?
				 CAIRNDV_DURABILITY_EMULATED :
				 CAIRNDV_DURABILITY_ADR;
		return sim_link_tell(link, conn);
	}
	if (!sim_link_ends(link, conn))
		return false;
	wc->status = IBV_WC_RETRY_EXC_ERR;
	link->answered++;
	return true;
}

static int sim_poll(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	struct sim_nic *nic = cq->cq_context;
	uint32_t from = sim_below((uint32_t)sim->num_targets);

	(void)num;
	if (!sim->quiet)
		for (uint32_t n = sim_below(6); n; n--)
			sim_step();
	for (int i = 0; i < sim->num_targets && !sim->failed; i++)
		if (sim_link_complete(&nic->links[(from + (uint32_t)i) %
						  (uint32_t)sim->num_targets],
				      wc))
			return 1;
	return 0;
}

static struct ibv_context sim_context = {
	.ops = { .poll_cq = sim_poll },
};

void sim_nic_init(struct sim_nic *nic)
{
	memset(nic, 0, sizeof(*nic));
	nic->cq.context = &sim_context;
	nic->cq.cq_context = nic;
	for (int i = 0; i < SIM_TARGETS; i++) {
		nic->links[i].target = &sim->targets[i];
		nic->links[i].qp.context = &sim_context;
		nic->links[i].qp.qp_context = &nic->links[i];
		nic->links[i].qp.qp_type = IBV_QPT_RC;
		nic->links[i].qp.send_cq = &nic->cq;
	}
}

const struct log_link_ops sim_link_ops = {
	.probe = sim_link_probe,
	.claim = sim_link_claim,
	.read = sim_link_read,
	.write = sim_link_write,
	.poll = sim_link_poll,
	.path = sim_link_path,
	.watch = sim_link_watch,
	.close = sim_link_close,
	.lost = sim_link_lost,
	.now = sim_link_now,
};
