// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * /sys/class/infiniband/DEVICE/ports/1/counters: ib_core makes it for devices with
 * process_mad, and reads the counters by datagrams (IBTA 16.1). Bytes are payload bytes.
 */
#include <rdma/ib_pma.h>
#include "verbs/pma.h"
#include "verbs/stats.h"

/* Offset of the attribute in the data of the datagram. */
#define PMA_OFFSET	40

static u64 pma_sum(struct cairn_dev *dev, enum cairn_counter counter)
{
	return cairn_stats_dev_sum(dev, counter);
}

/* Counters of 32 and 16 bits stay at their largest value. */
static __be32 pma_be32(u64 value)
{
	return cpu_to_be32(min_t(u64, value, U32_MAX));
}

static __be16 pma_be16(u64 value)
{
	return cpu_to_be16(min_t(u64, value, U16_MAX));
}

static void pma_counters(struct cairn_dev *dev, struct ib_pma_portcounters *out)
{
	out->port_rcv_errors =
		pma_be16(pma_sum(dev, CAIRN_CTR_RX_ICRC_ERRORS) +
			 pma_sum(dev, CAIRN_CTR_RX_MALFORMED));
	out->port_xmit_discards = pma_be16(pma_sum(dev, CAIRN_CTR_TX_DROPPED) +
					   pma_sum(dev, CAIRN_CTR_TX_NOROUTE));
	out->port_xmit_data = pma_be32(pma_sum(dev, CAIRN_CTR_TX_BYTES) / 4);
	out->port_rcv_data = pma_be32(pma_sum(dev, CAIRN_CTR_RX_BYTES) / 4);
	out->port_xmit_packets = pma_be32(pma_sum(dev, CAIRN_CTR_TX_PACKETS));
	out->port_rcv_packets = pma_be32(pma_sum(dev, CAIRN_CTR_RX_PACKETS));
}

static void pma_counters_ext(struct cairn_dev *dev,
			     struct ib_pma_portcounters_ext *out)
{
	out->port_xmit_data =
		cpu_to_be64(pma_sum(dev, CAIRN_CTR_TX_BYTES) / 4);
	out->port_rcv_data = cpu_to_be64(pma_sum(dev, CAIRN_CTR_RX_BYTES) / 4);
	out->port_xmit_packets =
		cpu_to_be64(pma_sum(dev, CAIRN_CTR_TX_PACKETS));
	out->port_rcv_packets =
		cpu_to_be64(pma_sum(dev, CAIRN_CTR_RX_PACKETS));
}

int cairn_pma_get(struct cairn_dev *dev, const struct ib_mad *in,
		  struct ib_mad *out)
{
	void *data = out->data + PMA_OFFSET;

	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MAD_RESULT_SUCCESS;
	out->mad_hdr = in->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	switch (in->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		/* 64-bit counters; unicast and multicast are counted together. */
		((struct ib_class_port_info *)data)->capability_mask =
			IB_PMA_CLASS_CAP_EXT_WIDTH_NOIETF;
		break;
	case IB_PMA_PORT_COUNTERS:
		pma_counters(dev, data);
		break;
	case IB_PMA_PORT_COUNTERS_EXT:
		pma_counters_ext(dev, data);
		break;
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
