// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <asm/byteorder.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/string.h>
#include "wire/mad.h"

#define MAD_BASE_VERSION	1
#define MAD_MAX_ATOMIC_UNIT	4096

#define MAD_DOMAINS							\
	(CAIRN_DOMAIN_PMEM | CAIRN_DOMAIN_HOST | CAIRN_DOMAIN_EMULATED)

/* Locally administered, made of the driver's id. */
static const __u8 mad_oui[3] = { 0xc6, 0x1a, 0x7d };

static bool mad_is_ours(const struct cairn_mad *mad)
{
	return mad->base_version == MAD_BASE_VERSION &&
	       mad->mgmt_class == CAIRN_MAD_CLASS &&
	       !memcmp(mad->oui, mad_oui, sizeof(mad_oui));
}

enum cairn_mad_kind cairn_mad_kind(const struct cairn_mad *mad)
{
	if (!mad_is_ours(mad))
		return CAIRN_MAD_OTHER;
	if (mad->method == CAIRN_MAD_GET_RESP)
		return CAIRN_MAD_ANSWER;
	/* ib_mad answers "not supported" to all other questions. */
	return mad->method == CAIRN_MAD_GET &&
	       mad->class_version == CAIRN_MAD_VERSION &&
	       mad->attr_id == cpu_to_be16(CAIRN_MAD_ATTR) ?
	       CAIRN_MAD_QUESTION : CAIRN_MAD_OTHER;
}

void cairn_mad_ask(struct cairn_mad *mad, __be64 tid)
{
	*mad = (struct cairn_mad){
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = CAIRN_MAD_CLASS,
		.class_version = CAIRN_MAD_VERSION,
		.method = CAIRN_MAD_GET,
		.tid = tid,
		.attr_id = cpu_to_be16(CAIRN_MAD_ATTR),
	};
	memcpy(mad->oui, mad_oui, sizeof(mad_oui));
}

void cairn_mad_answer(struct cairn_mad *mad, const struct cairn_mad *question,
		      const struct cairn_peer_caps *caps)
{
	cairn_mad_ask(mad, question->tid);
	mad->method = CAIRN_MAD_GET_RESP;
	mad->attr_mod = question->attr_mod;
	mad->domains = cpu_to_be32(caps->persist_domains);
	mad->atomic_unit = cpu_to_be32(caps->persist_atomic_unit);
	mad->max_outstanding = cpu_to_be32(caps->max_persist_outstanding);
	mad->abilities = cpu_to_be32(caps->abilities);
	mad->max_msg = cpu_to_be64(caps->max_msg);
}

static bool mad_not_known(u16 status)
{
	u16 code = status & CAIRN_MAD_CODE_MASK;

	return code == CAIRN_MAD_BAD_VERSION || code == CAIRN_MAD_BAD_METHOD ||
	       code == CAIRN_MAD_BAD_ATTR;
}

int cairn_mad_read(const struct cairn_mad *mad, struct cairn_peer_caps *caps)
{
	u32 atomic_unit = be32_to_cpu(mad->atomic_unit);
	u64 max_msg = be64_to_cpu(mad->max_msg);

	*caps = (struct cairn_peer_caps){};
	if (mad_not_known(be16_to_cpu(mad->status)))
		return 0;
	if (mad->status || mad->attr_id != cpu_to_be16(CAIRN_MAD_ATTR) ||
	    !is_power_of_2(atomic_unit) || atomic_unit > MAD_MAX_ATOMIC_UNIT ||
	    !max_msg || max_msg > 1ull << 31)
		return -EPROTO;
	caps->known = 1;
	/* A later version of the peer may know more domains, or be able to do more. */
	caps->persist_domains = be32_to_cpu(mad->domains) & MAD_DOMAINS;
	caps->abilities = be32_to_cpu(mad->abilities) & CAIRN_PEER_ABILITIES;
	caps->persist_atomic_unit = atomic_unit;
	caps->max_persist_outstanding = be32_to_cpu(mad->max_outstanding);
	caps->max_msg = max_msg;
	return 0;
}
