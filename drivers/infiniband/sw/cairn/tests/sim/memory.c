// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registered memory. Addresses in it are numbers that mean nothing to the
 * host's CPU, so that nobody gets at the bytes but through a key; each region
 * is an allocation of exactly its length.
 */
#include <errno.h>
#include <stdlib.h>
#include "sim/sim.h"

struct sim_mr *sim_mr(struct sim *s, u32 host, u32 len, u32 access)
{
	struct sim_host *h = &s->host[host];
	struct sim_mr *mr = calloc(1, sizeof(*mr));
	u32 n = h->mrs++;

	BUG_ON(n >= SIM_MRS);
	mr->key = (n + 1) << 8 | sim_below(&s->rand, 256);
	mr->pd = SIM_PD;
	mr->len = len;
	mr->access = access;
	/* far apart, and aligned as the memory behind is */
	mr->va = (u64)(sim_below(&s->rand, 1 << 20) + 1) << 40 | n << 28;
	mr->mem = malloc(len ?: 1);
	mr->valid = true;
	sim_fill(&s->rand, mr->mem, len);
	h->mr[n] = mr;
	return mr;
}

static u8 *image(const struct sim_mr *mr)
{
	u8 *p = malloc(mr->len ?: 1);

	memcpy(p, mr->mem, mr->len);
	return p;
}

struct sim_mr *sim_mr_persistent(struct sim *s, u32 host, u32 len, u32 access,
				 enum cairn_persist persist)
{
	struct sim_mr *mr = sim_mr(s, host, len, access);

	mr->persist = persist;
	mr->staged = image(mr);
	mr->shadow = image(mr);
	return mr;
}

#define LINE	64

void sim_writeback(struct sim_mr *mr, u32 off, u32 len)
{
	u32 from = off & -LINE, to = min(ALIGN(off + len, LINE), mr->len);

	memcpy(mr->staged + from, mr->mem + from, to - from);
}

void sim_fence(struct sim *s, u32 host)
{
	struct sim_host *h = &s->host[host];
	u32 i;

	s->fences++;
	for (i = 0; i < h->mrs; i++)
		if (h->mr[i]->persist)
			memcpy(h->mr[i]->shadow, h->mr[i]->staged,
			       h->mr[i]->len);
}

struct sim_mr *sim_mr_find(struct sim *s, u32 host, u32 pd, u32 key)
{
	struct sim_host *h = &s->host[host];
	u32 n = (key >> 8) - 1;
	struct sim_mr *mr;

	if (n >= h->mrs)
		return NULL;
	mr = h->mr[n];
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

/* Copy @len bytes between @span and @buf. A list too short is the engine's
 * mistake: it knows the lengths.
 */
static int copy_span(struct sim_qp *qp, const struct cairn_span *span, u8 *buf,
		     u32 len, bool to_span)
{
	u32 i, skip = span->offset;

	if (span->num_sge > CAIRN_MAX_SGE)
		sim_fail(qp->s, "span with %u entries", span->num_sge);
	for (i = 0; i < span->num_sge && len; i++) {
		const struct cairn_sge *sge = &span->sge[i];
		u32 n;
		u8 *p;

		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		n = min(len, sge->length - skip);
		p = sim_mr_at(qp, sge->lkey, sge->addr + skip, n, span->access);
		if (!p)
			return -EFAULT;
		if (to_span)
			memcpy(p, buf, n);
		if (!to_span)
			memcpy(buf, p, n);
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

int sim_place_words(struct sim_qp *qp, const struct cairn_span *to,
		    const u8 *buf, u32 len, struct cairn_words *words,
		    bool last)
{
	const struct cairn_sge *sge = to->sge;
	struct sim_mr *mr = sim_mr_find(qp->s, qp->host, qp->pd, sge->lkey);
	u8 *start = sim_mr_at(qp, sge->lkey, sge->addr, sge->length,
			      to->access), *at;
	u32 piece = 1;

	if (!start || sge->length != words->len + len)
		return -EFAULT;
	for (at = start + words->len; len; at += piece, len -= piece) {
		piece = min(len, piece * 5 % 613);
		cairn_words_put(words, at, buf, piece);
		buf += piece;
	}
	if (last)
		cairn_words_end(words, at);
	if (to->access == CAIRN_ACCESS_REMOTE_PERSIST)
		sim_writeback(mr, start - mr->mem, at - start);
	return 0;
}
