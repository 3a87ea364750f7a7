// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Durability as an invariant: random programs write to memory of every kind, on bad
 * networks, with a slow host. Each request has a private range, so that the shadow image
 * always tells whether it is durable. The oracle knows PSNs and ranges and does not ask
 * the engine:
 *
 *   an answer of the target: all data that it acknowledges is durable, and its MSN
 *	counts no plain WRITE or atomic that is not.
 *   a completion at the initiator: its persistence ACK has arrived, and the kind that
 *	it names is that of the region or a weaker one that was written before.
 *   a receive with immediate data at the target: once for each message, with its number
 *	and length, and its data is durable.
 *   the end of the connection: the durable completions that could be posted came first.
 *   a crash after any step: all acknowledged data is kept.
 *
 * Runs move from CPU to CPU, answers wait for a common fence, PSNs wrap, and caches evict
 * lines and single words before they are written back.
 */
#include <errno.h>
#include <stdlib.h>
#include "engine.h"
#include "persist/flush.h"

#define MAX_WRS		80
#define AREA		(1 << 18)

/* Regions: a persistent one has the durability of its number plus one. */
enum kind { EADR, ADR, HOST, EMULATED, PLAIN, KINDS };

struct request {
	u8 opcode, flags, kind;
	u32 off, len;		/* in every region, and in the source */
	u32 first, last;	/* relative PSNs */
	u64 old;		/* an atomic: the word before it */
	bool arrived;		/* its last packet, at the target */
	bool completed, told;
	bool notified;		/* a receive at the target told its immediate data */
};

struct program {
	struct sim *s;
	struct sim_qp *a, *b;
	struct sim_mr *src, *results, *dst[KINDS];
	struct request wr[MAX_WRS];
	u32 from[PLAIN];	/* the first request that may write there */
	u32 wrs, posted, completed, told, psns;
	u32 recvs[2];		/* posted at the initiator and at the target */
	u32 err_recvs;		/* of the initiator's, before it failed */
	u64 drip_ns;		/* longest time between its receives; 0: all at once */
	bool strangers;
	s32 seen;		/* highest persistence ACK that arrived */
	s32 persist_acked;	/* ... that left */
	s32 acked;		/* highest ordinary ACK that left */
	u32 images;
	u16 fail;		/* per mille: the host fails */
	u16 abuse;		/* per mille: wrong tokens */
	u16 post_done;		/* per mille: the host answers by a work request */
	bool failed;		/* an error is in order */
	u64 old_token;
};

static bool durable_persists(const struct request *request)
{
	return request->opcode == CAIRN_WQE_WRITE_PERSIST ||
	       request->opcode == CAIRN_WQE_WRITE_PERSIST_IMM;
}

/* One word, with a response that waits for its durability. */
static bool durable_word(const struct request *request)
{
	return request->opcode == CAIRN_WQE_CAS ||
	       request->opcode == CAIRN_WQE_ATOMIC_WRITE;
}

/* Its ordinary answer says that it is durable. */
static bool durable_plain_write(const struct request *request)
{
	return request->opcode == CAIRN_WQE_WRITE ||
	       request->opcode == CAIRN_WQE_WRITE_IMM || durable_word(request);
}

static bool durable_notifies(const struct request *request)
{
	return request->opcode == CAIRN_WQE_WRITE_IMM ||
	       request->opcode == CAIRN_WQE_WRITE_PERSIST_IMM;
}

static bool durable_is_early(const struct request *request)
{
	return request->flags & CAIRN_WQE_EARLY;
}

static bool is_durable(const struct program *program, const struct request *request)
{
	return !memcmp(program->dst[request->kind]->shadow + request->off,
		       program->src->mem + request->off, request->len);
}

/* Everything into persistent memory that ends at or before @psn. */
static void all_durable(struct program *program, s32 psn, bool persist, bool plain,
			const char *what)
{
	u32 i;

	for (i = 0; i < program->posted; i++) {
		struct request *request = &program->wr[i];

		if ((s32)request->last > psn || request->kind == PLAIN ||
		    request->opcode == CAIRN_WQE_SEND || request->opcode == CAIRN_WQE_READ)
			continue;
		if ((durable_persists(request) ? persist : plain) && !is_durable(program, request))
			sim_fail(program->s, "%s, PSN %d: request %u (op %u) is not durable",
				 what, psn, i, request->opcode);
	}
}

/* Requests that end at or before @psn. */
static u32 requests_to(const struct program *program, s32 psn)
{
	u32 n = 0;

	while (n < program->posted && (s32)program->wr[n].last <= psn)
		n++;
	return n;
}

/* A requester may complete by MSN alone: it counts what has arrived and, of plain WRITEs
 * into persistent memory, what is durable. @acked: the PSN that the answer acknowledges.
 */
static void check_msn(struct program *program, const struct cairn_pkt *pkt, s32 acked)
{
	u32 i, least = requests_to(program, acked);
	bool exact = pkt->op->kind == CAIRN_KIND_PERSIST_ACK &&
		     (pkt->syndrome & CAIRN_AETH_TYPE_MASK) == CAIRN_AETH_ACK;

	if (pkt->msn < least || (exact && pkt->msn != least))
		sim_fail(program->s, "%s of PSN %d: MSN %u, not %u", pkt->op->name,
			 acked, pkt->msn, least);
	for (i = 0; i < pkt->msn; i++) {
		struct request *request = &program->wr[i];

		if (i >= program->posted || !request->arrived)
			sim_fail(program->s, "MSN %u counts request %u, which is not here",
				 pkt->msn, i);
		else if (durable_plain_write(request) && request->kind != PLAIN &&
			 !is_durable(program, request))
			sim_fail(program->s, "MSN %u counts request %u, which is not durable",
				 pkt->msn, i);
	}
}

/* The message whose last packet has PSN @psn, or NULL. */
static struct request *request_at(struct program *program, u32 psn)
{
	u32 i;

	for (i = 0; i < program->posted; i++)
		if (cairn_psn_add(program->a->psn, program->wr[i].last) == psn)
			return &program->wr[i];
	return NULL;
}

/* The response of a READ acknowledges what is before it, that of an atomic itself, too. */
static void check_response(struct program *program, const struct cairn_pkt *pkt, s32 psn)
{
	const struct request *request = request_at(program, pkt->psn);
	bool word = request && durable_word(request);

	if (word)
		program->acked = max(program->acked, psn);
	all_durable(program, word ? psn : psn - 1, false, true, "a response leaves");
}

static enum sim_fate on_emit(struct sim_qp *qp, enum cairn_side_id side,
			     const struct cairn_pkt *pkt)
{
	struct program *program = qp->hooks.arg;
	s32 psn = cairn_psn_diff(pkt->psn, program->a->psn);
	bool ack = (pkt->syndrome & CAIRN_AETH_TYPE_MASK) == CAIRN_AETH_ACK;
	bool response = pkt->op->kind != CAIRN_KIND_PERSIST_ACK &&
			pkt->op->kind != CAIRN_KIND_ACK;

	if (qp != program->b || side != CAIRN_RESP)
		return SIM_PASS;
	if (pkt->op->hdrs & CAIRN_HDR_AETH)
		check_msn(program, pkt, ack && !response ? psn : psn - 1);
	switch (pkt->op->kind) {
	case CAIRN_KIND_PERSIST_ACK:
		program->persist_acked = max(program->persist_acked, ack ? psn : psn - 1);
		all_durable(program, ack ? psn : psn - 1, true, true,
			    "a PERSIST ACK leaves");
		break;
	case CAIRN_KIND_ACK:
		program->acked = max(program->acked, ack ? psn : psn - 1);
		all_durable(program, ack ? psn : psn - 1, false, true,
			    "an ACK leaves");
		break;
	default:
		check_response(program, pkt, psn);
	}
	return SIM_PASS;
}

/* A crash after this step, at which the image has changed: is all in it that
 * was acknowledged by then?
 */
static void durable_crash(struct sim *sim, void *arg)
{
	struct program *program = arg;

	if (program->a->c.state != CAIRN_QP_ERR)
		program->err_recvs = program->recvs[0];
	if (program->images == sim->images)
		return;
	program->images = sim->images;
	all_durable(program, program->persist_acked, true, true, "a crash");
	all_durable(program, program->acked, false, true, "a crash");
}

static void note_arrival(struct program *program, s32 psn)
{
	u32 i;

	for (i = 0; i < program->posted; i++) {
		struct request *request = &program->wr[i];

		if (psn == (s32)request->last ||
		    (request->opcode == CAIRN_WQE_READ && psn >= (s32)request->first &&
		     psn < (s32)request->last))
			request->arrived = true;
	}
}

static void on_rx(struct sim_qp *qp, const struct cairn_pkt *pkt)
{
	struct program *program = qp->hooks.arg;
	s32 psn = cairn_psn_diff(pkt->psn, program->a->psn);

	if (qp == program->b)
		note_arrival(program, psn);
	if (qp != program->a || pkt->op->kind != CAIRN_KIND_PERSIST_ACK)
		return;
	if ((pkt->syndrome & CAIRN_AETH_TYPE_MASK) != CAIRN_AETH_ACK)
		psn--;		/* says so of those before */
	program->seen = max(program->seen, psn);
}

/* The weakest of what was written up to @request, or of what came behind it. */
static void check_kind(struct program *program, const struct request *request, u8 durability)
{
	u32 i, least = 0, most = 0;

	for (i = 0; i < program->posted; i++) {
		if (!durable_persists(&program->wr[i]))
			continue;
		if (&program->wr[i] <= request)
			least = max(least, program->wr[i].kind + 1u);
		if (program->wr[i].arrived)
			most = max(most, program->wr[i].kind + 1u);
	}
	if (durability < least || durability > most)
		sim_fail(program->s, "request %ld: durability %u, not %u to %u",
			 (long)(request - program->wr), durability, least, most);
}

static void check_durable(struct program *program, struct request *request, u8 durability)
{
	check_kind(program, request, durability);
	if (program->seen < (s32)request->last)
		sim_fail(program->s, "request %ld is told durable before its ACK",
			 (long)(request - program->wr));
	if (!is_durable(program, request))
		sim_fail(program->s, "request %ld is told durable and is not",
			 (long)(request - program->wr));
}

static void on_send_cqe(struct program *program, const struct cairn_cqe *cqe)
{
	struct request *request = &program->wr[program->completed];

	if (cqe->wr_id != program->completed++)
		sim_fail(program->s, "completion of %llu, expected %u",
			 (unsigned long long)cqe->wr_id, program->completed - 1);
	if (cqe->status) {
		if (!program->failed || cqe->durability)
			sim_fail(program->s, "request %llu: status %u durability %u",
				 (unsigned long long)cqe->wr_id, cqe->status,
				 cqe->durability);
		return;
	}
	request->completed = true;
	if (durable_persists(request) && !durable_is_early(request))
		check_durable(program, request, cqe->durability);
	else if (cqe->durability)
		sim_fail(program->s, "request %llu: durability %u, when received",
			 (unsigned long long)cqe->wr_id, cqe->durability);
	if (durable_plain_write(request) && request->kind != PLAIN &&
	    !is_durable(program, request))
		sim_fail(program->s, "WRITE %llu complete and not durable",
			 (unsigned long long)cqe->wr_id);
	if (request->opcode == CAIRN_WQE_CAS &&
	    memcmp(program->results->mem + request->off, &request->old, sizeof(request->old)))
		sim_fail(program->s, "atomic %llu was executed twice",
			 (unsigned long long)cqe->wr_id);
}

/* The next message of early mode that has no durable completion, or NULL. */
static struct request *next_told(struct program *program)
{
	while (program->told < program->posted && !durable_is_early(&program->wr[program->told]))
		program->told++;
	return program->told < program->posted ? &program->wr[program->told] : NULL;
}

/* The connection has failed: a receive fails or is flushed, and nothing that was known
 * to be durable has missed it. A peer whose port is unknown may not be heard.
 */
static void check_told_first(struct program *program, const struct cairn_cqe *cqe)
{
	const struct request *request = next_told(program);

	if (!program->failed)
		sim_fail(program->s, "receive %llu has status %u",
			 (unsigned long long)cqe->wr_id, cqe->status);
	if (request && request->completed && program->seen >= (s32)request->last &&
	    !program->strangers && cqe->wr_id < program->err_recvs)
		sim_fail(program->s, "request %ld was durable, and receive %llu has status %u",
			 (long)(request - program->wr), (unsigned long long)cqe->wr_id,
			 cqe->status);
	if (cqe->opcode == CAIRN_CQE_RECV_DURABLE &&
	    (!request || !request->completed || cqe->durability ||
	     cairn_psn_diff(cqe->psn, program->a->psn) != (s32)request->last))
		sim_fail(program->s, "a failed durable completion is not that of the oldest");
}

/* A completion that a request causes at a receive is solicited if the request was. */
static void check_solicited(struct program *program, const struct request *request,
			    const struct cairn_cqe *cqe)
{
	bool solicited = cqe->flags & CAIRN_CQE_SOLICITED;

	if (solicited != !!(request->flags & CAIRN_WQE_SOLICITED))
		sim_fail(program->s, "receive %llu is%s solicited",
			 (unsigned long long)cqe->wr_id, solicited ? "" : " not");
}

/* Early mode: the next one in order. */
static void on_told(struct program *program, const struct cairn_cqe *cqe)
{
	struct request *request;

	if (cqe->status) {
		check_told_first(program, cqe);
		return;
	}
	request = next_told(program);
	if (!request || cqe->opcode != CAIRN_CQE_RECV_DURABLE || !request->completed ||
	    cairn_psn_diff(cqe->psn, program->a->psn) != (s32)request->last ||
	    cqe->persist_va != program->dst[request->kind]->va + request->off) {
		sim_fail(program->s, "durable completion of request %u is wrong",
			 program->told);
		return;
	}
	check_solicited(program, request, cqe);
	program->told++;
	check_durable(program, request, cqe->durability);
}

/* A receive at the target names the message that it belongs to, once. */
static void check_immediate(struct program *program, struct request *request,
			    const struct cairn_cqe *cqe)
{
	u32 id = request - program->wr;

	if (request->notified)
		sim_fail(program->s, "request %u is told twice to the target", id);
	if (!(cqe->flags & CAIRN_CQE_WITH_IMM) || cqe->imm_or_key != id)
		sim_fail(program->s, "request %u is told as %x", id, cqe->imm_or_key);
	request->notified = true;
}

/* A receive with immediate data: the message is durable. */
static void on_notified(struct program *program, const struct cairn_cqe *cqe)
{
	struct request *request = request_at(program, cqe->psn);
	bool plain;

	if (cqe->status)
		return;
	if (!request || !durable_notifies(request) || request->kind == HOST ||
	    cqe->byte_len != request->len) {
		sim_fail(program->s, "a receive tells of a message that did not come");
		return;
	}
	check_immediate(program, request, cqe);
	check_solicited(program, request, cqe);
	plain = request->kind == PLAIN;
	if (cqe->durability != (plain ? 0 : request->kind + 1) ||
	    cqe->persist_va != (plain ? 0 : program->dst[request->kind]->va + request->off))
		sim_fail(program->s, "a receive has durability %u", cqe->durability);
	if (!plain && !is_durable(program, request))
		sim_fail(program->s, "request %ld is told to the target and not durable",
			 (long)(request - program->wr));
}

/* The host at the target. */
struct job {
	struct program *p;
	struct cairn_cqe cqe;
};

static void durable_abuse(struct program *program, u64 token)
{
	u64 wrong[] = { token ^ 1, token + (1ULL << 32), 0, program->old_token };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		if (sim_release(program->b, wrong[i], 0) != -ENOENT)
			sim_fail(program->s, "a wrong token is taken");
}

/* Answer by a work request. Return: false if the send queue is full. */
static bool post_done(struct program *program, u64 token)
{
	const struct sim_wr wr = {
		.opcode = CAIRN_WQE_PERSIST_DONE,
		.flags = CAIRN_WQE_INLINE,
		.inl = &token,
		.inline_len = sizeof(token),
	};

	if (program->b->c.state != CAIRN_QP_RTS || !sim_queue_send(program->b, &wr))
		return false;
	sim_doorbell(program->b);
	return true;
}

static void flush_done(struct sim *sim, void *arg)
{
	struct job *j = arg;
	struct program *program = j->p;
	const struct cairn_cqe *cqe = &j->cqe;
	bool fails = sim_chance(&sim->rand, program->fail);
	int err = 0;

	if (sim_chance(&sim->rand, program->abuse))
		durable_abuse(program, cqe->persist_token);
	if (!fails)
		sim_make_durable(sim, program->dst[HOST],
				 cqe->persist_va - program->dst[HOST]->va, cqe->byte_len);
	program->failed |= fails;
	if (program->failed || !sim_chance(&sim->rand, program->post_done) ||
	    !post_done(program, cqe->persist_token)) {
		err = sim_release(program->b, cqe->persist_token, fails ? EIO : 0);
		program->old_token = cqe->persist_token;
	}
	if (err && !program->failed)
		sim_fail(sim, "a token is refused");
	free(j);
}

static void on_asked(struct program *program, const struct cairn_cqe *cqe)
{
	struct job *j = malloc(sizeof(*j));
	u64 delay = sim_below(&program->s->rand, 200 * SIM_US);
	struct request *request = request_at(program, cqe->psn);

	/* some very long */
	if (sim_chance(&program->s->rand, 50))
		delay *= 500;
	if (!request || request->kind != HOST ||
	    cqe->persist_va != program->dst[HOST]->va + request->off ||
	    cqe->byte_len != request->len)
		sim_fail(program->s, "the host is asked to flush a range that was not written");
	else if (request->told)
		sim_fail(program->s, "the host is asked twice");
	else if (durable_notifies(request))
		check_immediate(program, request, cqe);
	if (request)
		request->told = true;
	*j = (struct job){ program, *cqe };
	sim_at_drop(program->s, program->s->now + delay, flush_done, free, j);
}

static void on_answered(struct program *program, const struct cairn_cqe *cqe)
{
	if (cqe->status && !program->failed)
		sim_fail(program->s, "an answer has status %u", cqe->status);
}

static void on_cqe(struct sim_qp *qp, enum cairn_side_id side,
		   const struct cairn_cqe *cqe)
{
	struct program *program = qp->hooks.arg;

	if (side == CAIRN_REQ && qp == program->a)
		on_send_cqe(program, cqe);
	else if (side == CAIRN_REQ)
		on_answered(program, cqe);
	else if (qp == program->a)
		on_told(program, cqe);
	else if (cqe->opcode == CAIRN_CQE_RECV_PERSIST)
		on_asked(program, cqe);
	else if (cqe->opcode == CAIRN_CQE_RECV_IMM)
		on_notified(program, cqe);
}

static void add_request(struct program *program)
{
	static const u8 ops[] = { CAIRN_WQE_WRITE_PERSIST,
				  CAIRN_WQE_WRITE_PERSIST,
				  CAIRN_WQE_WRITE_PERSIST,
				  CAIRN_WQE_WRITE_PERSIST_IMM,
				  CAIRN_WQE_WRITE_PERSIST_IMM,
				  CAIRN_WQE_WRITE, CAIRN_WQE_WRITE,
				  CAIRN_WQE_WRITE_IMM, CAIRN_WQE_SEND,
				  CAIRN_WQE_READ, CAIRN_WQE_CAS,
				  CAIRN_WQE_ATOMIC_WRITE };
	struct sim_rand *random = &program->s->rand;
	struct request *request = &program->wr[program->wrs];
	u32 end = program->wrs ? request[-1].off + request[-1].len : 0;
	u32 pmtu = program->a->c.attrs.pmtu;

	request->opcode = ops[sim_below(random, ARRAY_SIZE(ops))];
	request->kind = sim_below(random, durable_persists(request) ? PLAIN : KINDS);
	if (request->kind < PLAIN && program->wrs < program->from[request->kind])
		request->kind = EADR;
	request->off = end + sim_below(random, 100);
	request->len = sim_between(random, 1, sim_chance(random, 300) && end < AREA / 2 ?
				   4 * pmtu : 100);
	request->flags = CAIRN_WQE_SIGNALED;
	if (durable_word(request)) {
		request->off = round_up(request->off, 8);
		request->len = 8;
	}
	if (request->opcode == CAIRN_WQE_ATOMIC_WRITE)
		request->flags |= CAIRN_WQE_INLINE;
	if (durable_persists(request) && sim_chance(random, 400))
		request->flags |= CAIRN_WQE_EARLY;
	if (sim_chance(random, 100))
		request->flags |= CAIRN_WQE_FENCE;
	if (sim_chance(random, 300))
		request->flags |= CAIRN_WQE_SOLICITED;
	request->first = program->psns;
	program->psns += (request->len - 1) / pmtu + 1;
	request->last = program->psns - 1;
	program->wrs++;
}

static bool durable_post(struct program *program, u32 i)
{
	struct request *request = &program->wr[i];
	bool reads = request->opcode == CAIRN_WQE_READ || request->opcode == CAIRN_WQE_CAS;
	struct cairn_sge sge = sim_sge(reads ? program->results : program->src, request->off,
				       request->len);
	struct sim_wr wr = {
		.wr_id = i,
		.opcode = request->opcode,
		.flags = request->flags,
		.sge = &sge,
		.num_sge = 1,
		.imm_or_key = i,
		.remote_addr = program->dst[request->kind]->va + request->off,
		.rkey = program->dst[request->kind]->key,
		.inl = program->src->mem + request->off,
		.inline_len = request->len,
	};

	if (request->opcode == CAIRN_WQE_CAS) {
		memcpy(&request->old, program->dst[request->kind]->mem + request->off,
		       sizeof(request->old));
		wr.compare_add = request->old;
		memcpy(&wr.swap, program->src->mem + request->off, sizeof(wr.swap));
	}
	return sim_queue_send(program->a, &wr);
}

/* Post a receive at the initiator (@end 0) or the target. */
static bool post_recv(struct program *program, u32 end)
{
	struct cairn_sge sge = sim_sge(program->dst[PLAIN], AREA, AREA);
	struct sim_qp *qp = end ? program->b : program->a;

	if (program->recvs[end] == 2 * MAX_WRS ||
	    !sim_queue_recv(qp->rq, program->recvs[end], &sge, end))
		return false;
	program->recvs[end]++;
	return true;
}

/* Few receives for durable completions: some of those wait. */
static void durable_drip(struct sim *sim, void *arg)
{
	struct program *program = arg;

	if (program->a->c.state != CAIRN_QP_ERR && post_recv(program, 0))
		sim_at(sim, sim->now + 1 + sim_below(&sim->rand, program->drip_ns),
		       durable_drip, program);
}

static void durable_pump(struct sim *sim, void *arg)
{
	struct program *program = arg;
	u32 burst = sim_between(&sim->rand, 1, 8);

	while (burst-- && program->posted < program->wrs && durable_post(program, program->posted))
		program->posted++;
	sim_doorbell(program->a);
	while (sim_chance(&sim->rand, 800) && post_recv(program, 1) &&
	       (program->drip_ns || post_recv(program, 0)))
		;
	if (sim_chance(&sim->rand, 200))
		sim_turn(sim_chance(&sim->rand, 500) ? program->a : program->b,
			 sim_below(&sim->rand, CAIRN_SIDES));
	if (program->posted < program->wrs || program->recvs[1] < 2 * MAX_WRS)
		sim_at(sim, sim->now + 1 + sim_below(&sim->rand, 20 * SIM_US), durable_pump,
		       program);
}

static void watch_qp(struct program *program, struct sim_qp *qp)
{
	qp->hooks = (struct sim_hooks){
		.arg = program, .cqe = on_cqe, .emit = on_emit, .rx = on_rx,
	};
}

/* Weaker kinds come later, so that an answer is the first to name one. */
static void set_up_regions(struct program *program)
{
	struct sim_rand *random = &program->s->rand;
	u32 i;

	program->src = sim_mr(program->s, 0, AREA, SIM_LOCAL);
	program->results = sim_mr(program->s, 0, AREA, SIM_LOCAL);
	program->dst[PLAIN] = sim_mr(program->s, 1, 2 * AREA, SIM_ALL);
	for (i = 0; i < PLAIN; i++) {
		program->dst[i] = sim_mr_persistent(program->s, 1, AREA, SIM_ALL,
						    cairn_persist_method(i + 1));
		program->dst[i]->durability = i + 1;
		program->from[i] = sim_chance(random, 500) ? 0 : sim_below(random, MAX_WRS / 2);
	}
}

static void set_up(struct program *program, u64 seed, const struct sim_faults *faults,
		   const struct cairn_qp_attrs *attrs)
{
	struct sim_qp_init init = sim_rc;
	struct pair pair;

	init.sq_depth = 64;
	init.rq_depth = 512;
	/* they wrap somewhere in the program */
	program->strangers = seed % 2;
	pair = pair_near(seed, &init, attrs, MAX_WRS, program->strangers);
	program->s = pair.s;
	program->a = pair.a;
	program->b = pair.b;
	program->s->faults = *faults;
	program->s->budget = seed % 3 ? 64 : 0;
	program->s->evict = 300;
	cairn_flush_stream_min = seed % 3 ? 1000 : U32_MAX;
	program->s->plug = seed % 4 ? 200 : 0;
	program->post_done = seed % 2 ? 500 : 0;
	program->s->stepped = durable_crash;
	program->s->stepped_arg = program;
	program->seen = -1;
	program->persist_acked = -1;
	program->acked = -1;
	set_up_regions(program);
	if (sim_chance(&program->s->rand, 400))
		program->drip_ns = SIM_US << sim_below(&program->s->rand, 13);
	watch_qp(program, program->a);
	watch_qp(program, program->b);
}

static void durable_finish(struct program *program)
{
	u32 i;

	if (!sim_run(program->s, 3600 * SIM_SEC))
		sim_fail(program->s, "not at rest after an hour");
	/* a target that dies when all is done is not missed */
	if (program->failed && !(program->s->dead[1] && program->a->c.state == CAIRN_QP_RTS)) {
		ktap_eq(program->a->c.state, CAIRN_QP_ERR);
		ktap_eq(program->completed, program->wrs);
	} else if (!program->s->failures) {
		ktap_eq(program->completed, program->wrs);
		for (i = 0; i < program->wrs; i++)
			if (durable_is_early(&program->wr[i]) && i >= program->told)
				ktap_fail("request %u was never told durable",
					  i);
		for (i = 0; i < program->wrs; i++)
			if (durable_notifies(&program->wr[i]) && !program->wr[i].notified)
				ktap_fail("request %u was never told to the target", i);
		all_durable(program, program->psns, true, true, "the end");
	}
	sim_end(program->s);
}

static struct program *run_begin(u64 seed, const struct sim_faults *faults,
				 const struct cairn_qp_attrs *attrs)
{
	static struct program program;

	memset(&program, 0, sizeof(program));
	set_up(&program, seed, faults, attrs);
	program.abuse = 300;
	while (program.wrs < MAX_WRS)
		add_request(&program);
	durable_pump(program.s, &program);
	if (program.drip_ns)
		durable_drip(program.s, &program);
	return &program;
}

static struct cairn_qp_attrs run_attrs(u64 seed)
{
	static const u16 pmtus[] = { 256, 1024, 4096 };
	struct cairn_qp_attrs attrs = sim_attrs;

	attrs.pmtu = pmtus[seed % ARRAY_SIZE(pmtus)];
	/* plain WRITEs with host flush get no answer for long */
	attrs.timeout = 12 + seed % 4;
	return attrs;
}

static void run_seed(u64 seed, const struct sim_faults *faults, u16 fail)
{
	struct cairn_qp_attrs attrs = run_attrs(seed);
	struct program *program = run_begin(seed, faults, &attrs);

	program->fail = fail;
	durable_finish(program);
}

static void durable_die(struct sim *sim, void *arg)
{
	struct program *program = arg;

	sim->dead[1] = true;
	program->failed = true;
}

/* The target dies. Few retries, so that the end comes while receives are posted. */
static void run_to_death(u64 seed, const struct sim_faults *faults)
{
	struct cairn_qp_attrs attrs = run_attrs(seed);
	struct program *program;

	attrs.timeout = 8 + seed % 3;
	attrs.retry_cnt = seed % 2;
	program = run_begin(seed, faults, &attrs);
	program->failed = true;
	sim_at(program->s, program->s->now + sim_below(&program->s->rand, 500 * SIM_US),
	       durable_die, program);
	durable_finish(program);
}

static void a_good_network(void)
{
	for_seeds(seed, 60)
		run_seed(seed, &(struct sim_faults){ .split = 200 }, 0);
}

static void loss(void)
{
	for_seeds(seed, 120)
		run_seed(seed, &(struct sim_faults){ .loss = 50, .split = 200 },
			 0);
}

static void duplication(void)
{
	for_seeds(seed, 80)
		run_seed(seed, &(struct sim_faults){ .dup = 200, .split = 200,
						     .late_ns = 500000 }, 0);
}

static void reordering(void)
{
	for_seeds(seed, 80)
		run_seed(seed, &(struct sim_faults){ .late = 100, .split = 300,
						     .late_ns = 100000 }, 0);
}

static void all_at_once(void)
{
	for_seeds(seed, 120)
		run_seed(seed, &(struct sim_faults){ .loss = 30, .dup = 50,
						     .late = 50, .corrupt = 10,
						     .split = 300,
						     .late_ns = 100000 }, 0);
}

static void a_host_that_fails(void)
{
	for_seeds(seed, 120)
		run_seed(seed, &(struct sim_faults){ .loss = 20, .dup = 50,
						     .late = 50, .split = 300,
						     .late_ns = 100000 }, 50);
}

/* Each failure is early or late, and what was said before it may be lost. */
static void a_host_that_fails_and_loss(void)
{
	for_seeds(seed, 200)
		run_seed(seed, &(struct sim_faults){ .loss = 100, .split = 300 },
			 seed % 4 * 100 + 50);
}

/* Nothing is lost, and the host is slower than all retries of a plain peer. */
static void a_slow_host_and_short_timeouts(void)
{
	for_seeds(seed, 100) {
		struct cairn_qp_attrs attrs = run_attrs(seed);

		attrs.timeout = 8 + seed % 3;
		attrs.retry_cnt = 2 + seed % 3;
		durable_finish(run_begin(seed, &(struct sim_faults){
			.dup = 20, .split = 300, .late_ns = 50000 }, &attrs));
	}
}

static void a_target_that_dies(void)
{
	for_seeds(seed, 200)
		run_to_death(seed, &(struct sim_faults){ .dup = 20, .split = 300,
							 .late_ns = 100000 });
}

static const struct ktap_test tests[] = {
	KTAP(a_good_network),
	KTAP(loss),
	KTAP(duplication),
	KTAP(reordering),
	KTAP(all_at_once),
	KTAP(a_host_that_fails),
	KTAP(a_host_that_fails_and_loss),
	KTAP(a_slow_host_and_short_timeouts),
	KTAP(a_target_that_dies),
};

KTAP_MAIN(tests)
