// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>

#include "dv.h"
#include "inline.h"
#include "keys.h"

uint32_t cairn_inline_env(void)
{
	const char *text = getenv("CAIRN_INLINE_THRESHOLD");
	unsigned long bytes;
	char *end;

	if (!text || !*text)
		return UINT32_MAX;
	bytes = strtoul(text, &end, 10);
	if (*end)
		return UINT32_MAX;
	return bytes < CAIRN_MAX_INLINE ? (uint32_t)bytes : CAIRN_MAX_INLINE;
}

static uint32_t inline_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

void cairn_inline_init(struct cairn_qp *qp, uint32_t asked)
{
	uint32_t env = to_cctx(qp->vqp.qp.context)->inline_threshold;

	if (env == UINT32_MAX)
		env = inline_min(CAIRN_INLINE_DEFAULT, asked);
	qp->inline_threshold = inline_min(env, qp->max_inline);
}

/* Whether the device may not have begun what is posted now, because a request with a
 * fence waits before it.
 */
static bool inline_fenced(struct cairn_qp *qp)
{
	if (qp->fenced && cairn_ring_passed(&qp->sq.ring, qp->fence_at))
		qp->fenced = false;
	return qp->fenced;
}

bool cairn_inline_rule(struct cairn_qp *qp, const struct cairn_wqe_op *op,
		       const struct ibv_sge *sges, size_t num_sge,
		       struct cairn_inline *in)
{
	const struct cairn_keys *keys = to_cctx(qp->vqp.qp.context)->keys;
	uint32_t most = __atomic_load_n(&qp->inline_threshold,
					__ATOMIC_RELAXED);

	if (!most || !cairn_wqe_form_inlines(op) || !num_sge ||
	    num_sge > CAIRN_INLINE_PIECES || inline_fenced(qp))
		return false;
	in->n = num_sge;
	in->bytes = 0;
	for (size_t i = 0; i < num_sge; i++) {
		if (sges[i].length > most - in->bytes)
			return false;
		in->bytes += sges[i].length;
	}
	for (size_t i = 0; i < num_sge; i++) {
		in->buf[i].addr = (void *)cairn_keys_find(keys, qp->pd,
							  &sges[i]);
		in->buf[i].length = sges[i].length;
		if (!in->buf[i].addr)
			return false;
	}
	return true;
}

void cairn_inline_set(struct cairn_send_wqe *wqe, const struct cairn_inline *in)
{
	wqe->flags |= CAIRN_WQE_INLINE;
	wqe->inline_len = (uint32_t)in->bytes;
	wqe->units = (uint8_t)cairn_wqe_units(in->bytes);
}

void cairn_inline_copy(struct cairn_ring *ring, uint32_t index,
		       const struct cairn_inline *in)
{
	size_t offset = CAIRN_WQE_DATA_OFFSET;

	for (size_t i = 0; i < in->n; i++) {
		const struct ibv_data_buf *buf = &in->buf[i];

		if (buf->length)
			cairn_ring_put(ring, index, offset, buf->addr, buf->length);
		offset += buf->length;
	}
}

int cairndv_set_inline_threshold(struct ibv_qp *ibqp, uint32_t bytes)
{
	struct cairn_qp *qp = to_cqp(ibqp);

	if (!cairn_dv_owns(ibqp->context))
		return EOPNOTSUPP;
	if (bytes > qp->max_inline)
		return EINVAL;
	__atomic_store_n(&qp->inline_threshold, bytes, __ATOMIC_RELAXED);
	return 0;
}
