// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Persistence of the device at the other end: cairndv_query_peer(3). */
#include <errno.h>

#include "dv.h"
#include "method.h"

_Static_assert(CAIRNDV_PEER_TIMEOUT_MAX == CAIRN_MAX_PEER_TIMEOUT &&
	       (int)CAIRNDV_PEER_PERSIST_IMM == CAIRN_PEER_PERSIST_IMM,
	       "passed through");

int cairndv_query_peer(struct ibv_qp *qp, struct cairndv_peer_attr *attr,
		       size_t size, uint32_t timeout_ms)
{
	struct cairn_query_peer req = { .timeout_ms = timeout_ms };
	struct cairndv_peer_attr known = {};
	struct cairn_peer_caps caps = {};
	const struct ib_uverbs_attr attrs[] = {
		cairn_method_object_attr(CAIRN_ATTR_QUERY_PEER_QP, qp->handle),
		cairn_method_attr(CAIRN_ATTR_QUERY_PEER_IN, &req, sizeof(req)),
		cairn_method_attr(CAIRN_ATTR_QUERY_PEER_OUT, &caps,
				  sizeof(caps)),
	};
	int err;

	if (!cairn_dv_owns(qp->context))
		return EOPNOTSUPP;
	err = cairn_method_attrs(qp->context, CAIRN_OBJECT_PEER,
				 CAIRN_METHOD_QUERY_PEER, attrs, 3);
	if (err)
		return cairn_method_error(err);
	known.known = caps.known;
	known.persist_domains = caps.persist_domains;
	known.persist_atomic_unit = caps.persist_atomic_unit;
	known.max_persist_outstanding = caps.max_persist_outstanding;
	known.max_persist_msg = caps.max_msg;
	known.abilities = caps.abilities;
	cairn_dv_fill(attr, size, &known, sizeof(known));
	return 0;
}
