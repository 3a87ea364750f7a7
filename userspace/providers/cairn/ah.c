// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>

#include "ah.h"
#include "doorbell.h"

VERBS_RESP(cairn_ah_resp, struct ib_uverbs_create_ah_resp,
	   struct cairn_create_ah_resp);

struct ibv_ah *cairn_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct cairn_ah_resp resp = {};
	struct cairn_ah *ah = calloc(1, sizeof(*ah));
	int err;

	if (!ah)
		return NULL;
	err = ibv_cmd_create_ah(pd, &ah->ah, attr, &resp, sizeof(resp));
	if (!err) {
		ah->num = resp.drv.ah_num;
		return &ah->ah;
	}
	free(ah);
	errno = err;
	return NULL;
}

int cairn_destroy_ah(struct ibv_ah *ibah)
{
	int err;

	cairn_doorbell_unrung(ibah->context);
	err = ibv_cmd_destroy_ah(ibah);
	if (!err)
		free(to_cah(ibah));
	return err;
}
