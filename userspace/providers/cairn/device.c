// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "device.h"
#include "dm.h"

#define CLOCK_KHZ	1000000		/* completion timestamps count ns */

static void device_format_fw_ver(struct ibv_device_attr *attr, uint64_t ver)
{
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%u.%u.%u",
		 (unsigned int)(ver >> 32) & 0xffff,
		 (unsigned int)(ver >> 16) & 0xffff,
		 (unsigned int)ver & 0xffff);
}

/* The caller's structure may be an older, shorter version. */
#define ATTR_HAS(size, field)						\
	((size) >= offsetof(struct ibv_device_attr_ex, field) +		\
		   sizeof(((struct ibv_device_attr_ex *)0)->field))

static const struct ibv_packet_pacing_caps pacing_caps = {
	.qp_rate_limit_min = CAIRN_MIN_RATE_LIMIT,
	.qp_rate_limit_max = CAIRN_MAX_RATE_LIMIT,
	.supported_qpts = 1 << IBV_QPT_RC | 1 << IBV_QPT_UC | 1 << IBV_QPT_UD,
};

int cairn_query_device_ex(struct ibv_context *ctx,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t size)
{
	struct ib_uverbs_ex_query_device_resp resp = {};
	size_t resp_size = sizeof(resp);
	int err;

	err = ibv_cmd_query_device_any(ctx, input, attr, size, &resp,
				       &resp_size);
	if (err)
		return err;
	device_format_fw_ver(&attr->orig_attr, resp.base.fw_ver);
	if (ATTR_HAS(size, completion_timestamp_mask))
		attr->completion_timestamp_mask = UINT64_MAX;
	if (ATTR_HAS(size, hca_core_clock))
		attr->hca_core_clock = CLOCK_KHZ;
	if (ATTR_HAS(size, cq_mod_caps)) {
		attr->cq_mod_caps.max_cq_count =
			resp.cq_moderation_caps.max_cq_moderation_count;
		attr->cq_mod_caps.max_cq_period =
			resp.cq_moderation_caps.max_cq_moderation_period;
	}
	if (ATTR_HAS(size, packet_pacing_caps))
		attr->packet_pacing_caps = pacing_caps;
	if (ATTR_HAS(size, max_dm_size))
		attr->max_dm_size = CAIRN_MAX_DM;
	return 0;
}

int cairn_query_port(struct ibv_context *ctx, uint8_t port_num,
		     struct ibv_port_attr *attr)
{
	union verbs_cmd_buf cmd = {};

	return ibv_cmd_query_port(ctx, port_num, attr, &cmd,
				  VERBS_CMD_SIZE(struct ib_uverbs_query_port));
}

/* The clock of cairn_cqe.timestamp. */
int cairn_query_rt_values(struct ibv_context *ctx,
			  struct ibv_values_ex *values)
{
	uint32_t wanted = values->comp_mask;

	(void)ctx;
	values->comp_mask = 0;
	if (!(wanted & IBV_VALUES_MASK_RAW_CLOCK))
		return EINVAL;
	if (clock_gettime(CLOCK_MONOTONIC, &values->raw_clock))
		return errno;
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	return 0;
}
