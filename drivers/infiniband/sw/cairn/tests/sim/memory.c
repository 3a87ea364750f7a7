// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registered memory. Its addresses are not addresses of the host's CPU, so that the
 * bytes can be accessed through a key only. Each region is an allocation of exactly its
 * length.
 */
#include <errno.h>
#include <stdlib.h>
#include <linux/bvec.h>
#include <linux/libnvdimm.h>
#include <asm/barrier.h>
#include "persist/flush.h"
#include "sim/sim.h"

#define WORD		8		/* becomes durable as a whole */
#define ALL_WORDS	((1 << CAIRN_LINE / WORD) - 1)
/* Memory consists of pages; a placement has one piece for each page. */
#define PAGE		512
#define PIECES		(4096 / PAGE + 2 * CAIRN_MAX_SGE + 2)

struct sim_mr *sim_mr(struct sim *sim, u32 host, u32 len, u32 access)
{
	struct sim_host *owner = &sim->host[host];
	struct sim_mr *mr = calloc(1, sizeof(*mr));
	u32 n = owner->mrs++;

	BUG_ON(n >= SIM_MRS);
	mr->key = (n + 1) << 8 | sim_below(&sim->rand, 256);
	mr->pd = SIM_PD;
	mr->len = len;
	mr->access = access;
	/* far away from each other, and aligned as the real memory */
	mr->va = (u64)(sim_below(&sim->rand, 1 << 20) + 1) << 40 | n << 28;
	BUG_ON(posix_memalign((void **)&mr->mem, CAIRN_LINE, len ?: 1));
	mr->valid = true;
	sim_fill(&sim->rand, mr->mem, len);
	owner->mr[n] = mr;
	if (sim->on_demand)
		sim_odp(mr);
	return mr;
}

struct sim_mr *sim_mr_persistent(struct sim *sim, u32 host, u32 len, u32 access,
				 enum cairn_persist persist)
{
	struct sim_mr *mr = sim_mr(sim, host, len, access);

	mr->persist = persist;
	if (persist == CAIRN_PERSIST_NIC)
		mr->durability = CAIRN_DURABILITY_ADR;
	else if (persist == CAIRN_PERSIST_HOST)
		mr->durability = CAIRN_DURABILITY_HOST;
	mr->shadow = malloc(len ?: 1);
	memcpy(mr->shadow, mr->mem, len);
	mr->newest = calloc(len / WORD + 1, sizeof(*mr->newest));
	return mr;
}

/*
 * Persistent memory. A CPU writes lines back. Its fence makes them durable, but no other
 * CPU's fence does. A line may become durable at any other time, too, as a whole or in
 * words, when the cache evicts it.
 */

/* Make @bytes durable, the contents at time @when. Newer contents are kept. */
static void take_word(struct sim_mr *mr, u32 off, u32 len, const u8 *bytes,
		      u64 when)
{
	if (mr->newest[off / WORD] > when)
		return;
	mr->newest[off / WORD] = when;
	memcpy(mr->shadow + off, bytes, len);
}

static void take_line(struct sim_mr *mr, u32 off, u32 len, const u8 *bytes,
		      u64 when, u32 words)
{
	u32 i;

	for (i = 0; i < len; i += WORD)
		if (words & 1 << i / WORD)
			take_word(mr, off + i, min(len - i, (u32)WORD), bytes + i,
				  when);
}

void sim_make_durable(struct sim *sim, struct sim_mr *mr, u32 off, u32 len)
{
	u32 i, end = off + len;

	sim->line_clock++;
	memcpy(mr->shadow + off, mr->mem + off, len);
	for (i = off / WORD; i * WORD < end; i++)
		mr->newest[i] = sim->line_clock;
	sim->images++;
}

static struct {
	struct sim *s;
	struct sim_host *host;
} here;

void sim_on_cpu_of(struct sim_qp *qp)
{
	here.s = qp->s;
	here.host = &qp->s->host[qp->host];
}

static void stage_part(struct sim_mr *mr, u32 off, u32 len, bool stream)
{
	struct sim_cpu *cpu = &here.host->cpu[here.s->cpu];
	struct sim_line *line;

	if (cpu->n == cpu->room) {
		cpu->room = cpu->room ? 2 * cpu->room : 64;
		cpu->line = realloc(cpu->line, cpu->room * sizeof(*line));
	}
	line = &cpu->line[cpu->n++];
	line->mr = mr;
	line->off = off;
	line->len = len;
	line->stream = stream;
	line->when = ++here.s->line_clock;
	memcpy(line->bytes, mr->mem + off, line->len);
}

static struct sim_mr *memory_of(const u8 *bytes, size_t size)
{
	u32 i;

	for (i = 0; i < here.host->mrs; i++) {
		struct sim_mr *mr = here.host->mr[i];

		if (mr->shadow && mr->persist != CAIRN_PERSIST_HOST &&
		    bytes >= mr->mem && bytes + size <= mr->mem + mr->len)
			return mr;
	}
	sim_fail(here.s, "write-back of memory that is not persistent");
	return NULL;
}

/* Are there non-temporal stores that other CPUs may not see yet? */
static bool memory_streams(const struct sim_mr *mr)
{
	const struct sim_cpu *cpu = &here.host->cpu[here.s->cpu];
	u32 i;

	for (i = 0; i < cpu->n; i++)
		if (cpu->line[i].mr == mr && cpu->line[i].stream)
			return true;
	return false;
}

/* Instructions of the simulated CPU, under the kernel's names. */
void arch_wb_cache_pmem(void *addr, size_t size)
{
	const u8 *bytes = addr;
	struct sim_mr *mr = memory_of(bytes, size);
	u32 off, end;

	if (!mr)
		return;
	end = bytes - mr->mem + size;
	for (off = (bytes - mr->mem) & -CAIRN_LINE; off < end; off += CAIRN_LINE)
		stage_part(mr, off, min(mr->len - off, (u32)CAIRN_LINE), false);
}

/* Non-temporal stores. The other words of their lines stay in the cache. */
void cairn_env_stream_words(void *to, const void *from, u32 num)
{
	u32 off, end, len, size = num * WORD;
	struct sim_mr *mr = memory_of(to, size);

	memcpy(to, from, size);
	if (!mr || !num)
		return;
	off = (const u8 *)to - mr->mem;
	if (off % WORD)
		sim_fail(here.s, "non-temporal stores at %u", off);
	here.s->streamed += size;
	for (end = off + size; off < end; off += len) {
		len = min(CAIRN_LINE - off % CAIRN_LINE, end - off);
		stage_part(mr, off, len, true);
	}
}

void pmem_wmb(void)
{
	struct sim_cpu *cpu = &here.host->cpu[here.s->cpu];
	u32 i;

	for (i = 0; i < cpu->n; i++) {
		struct sim_line *line = &cpu->line[i];

		take_line(line->mr, line->off, line->len, line->bytes,
			  line->when, ALL_WORDS);
	}
	cpu->n = 0;
	here.s->images++;
}

void sim_settle(struct sim *sim, u32 host)
{
	struct sim_host *owner = &sim->host[host];

	if (!owner->unfenced)
		return;
	owner->unfenced = false;
	here.s = sim;
	here.host = owner;
	sim->count[CAIRN_CTR_PERSIST_FENCES]++;
	cairn_flush_fence();
}

/* Evict some or all words of the line that was written last. */
static void memory_evict(struct sim *sim, struct sim_mr *mr)
{
	u32 off = mr->placed & -CAIRN_LINE;
	u32 words = sim_chance(&sim->cpu_rand, 500) ?
		    ALL_WORDS : sim_below(&sim->cpu_rand, ALL_WORDS);

	take_line(mr, off, min(mr->len - off, (u32)CAIRN_LINE), mr->mem + off,
		  ++sim->line_clock, words);
	sim->images++;
}

void sim_run_over(struct sim *sim)
{
	struct sim_host *host = &sim->host[sim_below(&sim->cpu_rand, SIM_HOSTS)];
	u32 i;

	if (!sim->plugged)
		sim->cpu = sim_below(&sim->cpu_rand, SIM_CPUS);
	if (!sim->evict || !sim_chance(&sim->cpu_rand, sim->evict))
		return;
	for (i = 0; i < host->mrs; i++)
		if (host->mr[i]->shadow)
			memory_evict(sim, host->mr[i]);
}

struct sim_mr *sim_mr_find(struct sim *sim, u32 host, u32 pd, u32 key)
{
	struct sim_host *owner = &sim->host[host];
	u32 n = (key >> 8) - 1;
	struct sim_mr *mr;

	if (n >= owner->mrs)
		return NULL;
	mr = owner->mr[n];
	return mr->valid && mr->key == key && mr->pd == pd ? mr : NULL;
}

u8 *sim_mr_at(struct sim_qp *qp, u32 key, u64 va, u64 len,
	      enum cairn_access access)
{
	struct sim_mr *mr = sim_mr_find(qp->s, qp->host, qp->pd, key);

	if (access == CAIRN_ACCESS_REMOTE_PERSIST) {
		if (!mr || mr->persist != CAIRN_PERSIST_NIC)
			return NULL;
		access = CAIRN_ACCESS_REMOTE_WRITE;
	}
	if (!mr || !(mr->access & 1 << access))
		return NULL;
	if (va < mr->va || len > mr->len || va - mr->va > mr->len - len)
		return NULL;
	return mr->mem + (va - mr->va);
}

/* Copy @len bytes between @span and @buf. A list that is too short is an error of the
 * engine, which knows the lengths.
 */
static int copy_span(struct sim_qp *qp, const struct cairn_span *span, u8 *buf,
		     u32 len, bool to_span)
{
	u32 i, skip = span->offset;
	int err = sim_odp_find_span(qp, span, len);

	if (err)
		return err;
	if (span->num_sge > CAIRN_MAX_SGE)
		sim_fail(qp->s, "span with %u entries", span->num_sge);
	for (i = 0; i < span->num_sge && len; i++) {
		const struct cairn_sge *sge = &span->sge[i];
		u32 n;
		u8 *bytes;

		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		n = min(len, sge->length - skip);
		bytes = sim_mr_at(qp, sge->lkey, sge->addr + skip, n, span->access);
		if (!bytes)
			return -EFAULT;
		if (to_span)
			memcpy(bytes, buf, n);
		if (!to_span)
			memcpy(buf, bytes, n);
		buf += n;
		len -= n;
		skip = 0;
	}
	if (len) {
		sim_fail(qp->s, "QP %u: span is %u bytes short", qp->c.qpn, len);
		return -EFAULT;
	}
	return 0;
}

int sim_gather(struct sim_qp *qp, const struct cairn_span *span, u8 *buf,
	       u32 len)
{
	return copy_span(qp, span, buf, len, false);
}

int sim_scatter(struct sim_qp *qp, const struct cairn_span *span,
		const u8 *buf, u32 len)
{
	return copy_span(qp, span, (u8 *)buf, len, true);
}

void sim_writeback(struct sim_qp *qp, struct sim_mr *mr, u32 off, u32 len)
{
	mr->placed = off;
	sim_on_cpu_of(qp);
	cairn_flush_writeback(mr->mem + off, len);
}

/* The bytes at @bytes, up to the end of their page. */
static u32 to_page_end(const u8 *bytes, u32 len)
{
	return min(len, (u32)(PAGE - (uintptr_t)bytes % PAGE));
}

/* Replaces cairn_access_map(): pieces of memory, or -EFAULT when it is refused. */
static int map_span(struct sim_qp *qp, const struct cairn_span *span, u32 len,
		    struct bio_vec *bv)
{
	u32 i, skip = span->offset, n = 0;

	for (i = 0; i < span->num_sge && len; i++) {
		const struct cairn_sge *sge = &span->sge[i];
		u32 left;
		u8 *bytes;

		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		left = min(len, sge->length - skip);
		bytes = sim_mr_at(qp, sge->lkey, sge->addr + skip, left,
				  span->access);
		if (!bytes)
			return -EFAULT;
		len -= left;
		skip = 0;
		for (; left; left -= bv[n - 1].bv_len, bytes += bv[n - 1].bv_len) {
			BUG_ON(n == PIECES);
			bv[n++] = (struct bio_vec){
				.base = bytes, .bv_len = to_page_end(bytes, left),
			};
		}
	}
	if (len)
		sim_fail(qp->s, "QP %u: span is %u bytes short", qp->c.qpn,
			 len);
	return len ? -EFAULT : (int)n;
}

/* Copy in fragments of random size, as a packet may be stored in fragments. */
static int copy_words(const struct cairn_pkt *pkt, u32 off,
		      struct cairn_words *words, u8 *to, u32 len)
{
	const u8 *from = sim_pkt_payload(pkt) + off;
	u32 done, n = 1;

	for (done = 0; done < len; done += n) {
		n = min(len - done, n * 5 % 613);
		cairn_words_put(words, to + done, from + done, n);
	}
	return 0;
}

int sim_place_words(struct sim_qp *qp, const struct cairn_span *to,
		    const struct cairn_pkt *pkt, struct cairn_words *words)
{
	struct cairn_placement place = {
		.pkt = pkt,
		.words = words,
		.copy = copy_words,
		.more = to->more,
		.last = pkt->op->flags & CAIRN_OP_LAST,
		.writeback = to->access == CAIRN_ACCESS_REMOTE_PERSIST,
	};
	struct bio_vec bv[PIECES];
	u32 len = words->len + pkt->payload_len;
	int n = sim_odp_find_span(qp, to, len);
	struct sim_mr *mr;

	if (!n)
		n = map_span(qp, to, len, bv);
	if (n < 0)
		return n;
	mr = sim_mr_find(qp->s, qp->host, qp->pd, to->sge->lkey);
	mr->placed = to->sge->addr - mr->va;
	sim_on_cpu_of(qp);
	n = cairn_flush_place(&place, bv, n);
	if (place.last && memory_streams(mr))
		sim_fail(qp->s, "QP %u: the end of a message may be seen first", qp->c.qpn);
	return n;
}
