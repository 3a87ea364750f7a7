/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The counters of a device: enum, the name that `rdma statistic` shows, and the
 * meaning (Documentation/counters.rst is generated from this list).
 */
#ifndef CAIRN_ENGINE_COUNTERS_H
#define CAIRN_ENGINE_COUNTERS_H

#define CAIRN_COUNTERS(X)						\
	X(TX_PACKETS, tx_packets, "packets handed to the IP stack")	\
	X(TX_TRAINS, tx_trains,						\
	  "trains made, also those that were dropped; a packet by itself is one") \
	X(TX_JOINED, tx_joined,						\
	  "packets that joined a train which had been begun for others")	\
	X(TX_BYTES, tx_bytes, "payload bytes handed to the IP stack")	\
	X(TX_DROPPED, tx_dropped,					\
	  "packets lost before the wire: no memory, too long, refused by the stack, or stuck") \
	X(TX_NOROUTE, tx_noroute, "packets without a route")		\
	X(TX_SPOOFED, tx_spoofed,					\
	  "datagrams to the RoCE port refused: the socket lacks CAP_NET_RAW, "	\
	  "or NAT gave them the address of a device")			\
	X(RX_PACKETS, rx_packets, "packets accepted by the parser")	\
	X(RX_TRAINS, rx_trains,						\
	  "trains that segmentation or receive offload delivered whole") \
	X(RX_BYTES, rx_bytes, "payload bytes accepted by the parser")	\
	X(RX_ICRC_ERRORS, rx_icrc_errors,				\
	  "packets with a wrong ICRC; not looked at if they never left this host's memory") \
	X(RX_MALFORMED, rx_malformed,					\
	  "packets with bad lengths, version or opcode")		\
	X(RX_POLICY_DROPS, rx_policy_drops,				\
	  "packets, or trains of packets, refused by the IPsec policy")	\
	X(RX_NO_QP, rx_no_qp, "packets for a QP that does not exist")	\
	X(RX_WRONG_QP, rx_wrong_qp,					\
	  "packets of another transport, state, source or netdev")	\
	X(RX_SPOOFED, rx_spoofed,					\
	  "packets refused: the sender on this host is not the peer of the connection") \
	X(RX_PKEY_ERRORS, rx_pkey_errors, "packets with a P_Key that does not fit") \
	X(RX_QKEY_ERRORS, rx_qkey_errors, "UD packets with a wrong Q_Key") \
	X(RX_OVERFLOW, rx_overflow,					\
	  "packets dropped at a QP's receive bound, or that of its user")	\
	X(RX_NO_SRQ, rx_no_srq,						\
	  "XRC requests for an SRQ that does not exist or is of another domain") \
	X(RX_NO_WQE, rx_no_wqe,						\
	  "UC and UD messages dropped without a posted receive")	\
	X(RX_UC_GAPS, rx_uc_gaps, "UC messages dropped at a PSN gap")	\
	X(RX_TOO_LONG, rx_too_long,					\
	  "UC and UD messages longer than the posted receive")		\
	X(DUPLICATE_REQUEST, duplicate_request, "duplicate requests received") \
	X(OUT_OF_SEQUENCE, out_of_sequence, "requests ahead of the expected PSN") \
	X(RX_OTHER_PORT, rx_other_port,					\
	  "requests ahead of a gap and responses from another UDP port than those before") \
	X(RX_HELD, rx_held, "requests ahead of a gap that were kept")	\
	X(RX_HELD_REFUSED, rx_held_refused,				\
	  "kept requests that were not used: two contents, or none that fits") \
	X(RX_HELD_FULL, rx_held_full,					\
	  "requests ahead of a gap dropped: bound of QP, peer, user or device") \
	X(SEQ_NAKS_SENT, seq_naks_sent, "PSN sequence error NAKs sent")	\
	X(SEQ_NAKS_RECEIVED, seq_naks_received,				\
	  "PSN sequence error NAKs received")				\
	X(RNR_NAKS_SENT, rnr_naks_sent, "RNR NAKs sent")		\
	X(RNR_NAKS_RECEIVED, rnr_naks_received, "RNR NAKs received")	\
	X(FATAL_NAKS_SENT, fatal_naks_sent,				\
	  "NAKs sent that end the connection")				\
	X(FATAL_NAKS_RECEIVED, fatal_naks_received,			\
	  "NAKs received that end the connection")			\
	X(IMPLIED_NAKS, implied_naks,					\
	  "READ or atomic responses found missing by a later response")	\
	X(ACK_TIMEOUTS, ack_timeouts, "expired acknowledgement timers")	\
	X(RETRANSMITS, retransmits, "packets sent again")		\
	X(RETRY_EXCEEDED, retry_exceeded, "QPs that ran out of retries")	\
	X(RNR_RETRY_EXCEEDED, rnr_retry_exceeded,			\
	  "QPs that ran out of RNR retries")				\
	X(ACKS_SENT, acks_sent, "acknowledgements sent")		\
	X(ACKS_RECEIVED, acks_received, "acknowledgements received")	\
	X(TAIL_PROBES, tail_probes,					\
	  "packets sent again because an answer was overdue")		\
	X(RESPONSES_AHEAD, responses_ahead,				\
	  "READ and atomic responses placed ahead of a missing one")	\
	X(STALE_RESPONSES, stale_responses,				\
	  "responses outside the window of outstanding requests")	\
	X(CREDIT_WAITS, credit_waits,					\
	  "times a requester waited for end-to-end credits")		\
	X(BAD_WQES, bad_wqes, "work requests refused by validation")	\
	X(BAD_RINGS, bad_rings, "queues put in error for a bad write pointer") \
	X(LOCAL_PROT_ERRORS, local_prot_errors,				\
	  "local keys or ranges refused")				\
	X(REMOTE_ACCESS_ERRORS, remote_access_errors,			\
	  "remote keys, ranges or rights refused")			\
	X(STALE_KEYS, stale_keys,					\
	  "keys refused: released, never registered, or of another PD")		\
	X(LOOPBACK_PACKETS, loopback_packets,				\
	  "packets handed to a device of this host without the IP stack") \
	X(LOOPBACK_QUEUED, loopback_queued,				\
	  "those of them that were copied: the receiver was busy, or their kind") \
	X(FABRIC_PACKETS, fabric_packets,				\
	  "those of them that went to another device of the fabric")	\
	X(FABRIC_WATCHED, fabric_watched,				\
	  "trains for such a device that a capture kept in the IP stack")	\
	X(POISONED_PAGES, poisoned_pages,				\
	  "accesses refused: the memory has a hardware error")		\
	X(MR_RELEASES, mr_releases,					\
	  "memory regions released, changed or invalidated")		\
	X(EPOCH_ADVANCES, epoch_advances,				\
	  "advances of the epoch for releases")				\
	X(EPOCH_SHARED, epoch_shared,					\
	  "releases that shared the advance of another one")		\
	X(EPOCH_STUCK, epoch_stuck,					\
	  "advances of the epoch that took longer than a second")	\
	X(MR_CACHE_HITS, mr_cache_hits,					\
	  "look-ups of memory regions that the MR cache answered")	\
	X(MR_CACHE_MISSES, mr_cache_misses,				\
	  "look-ups that the MR cache did not answer")			\
	X(MR_CACHE_EVICTS, mr_cache_evicts,				\
	  "lines of the MR cache that were replaced")			\
	X(ODP_FAULTS, odp_faults,					\
	  "times a queue pair waited for a page of a region on demand") \
	X(ODP_FAULT_ERRORS, odp_fault_errors,				\
	  "those of them after which the memory could not be used")	\
	X(ODP_WAITS, odp_waits,						\
	  "faults that waited as their process or user had many") \
	X(ODP_PAGES, odp_pages, "pages that regions on demand were given") \
	X(ODP_INVALIDATIONS, odp_invalidations,				\
	  "pages that regions on demand gave back")			\
	X(ODP_DROPS, odp_drops,						\
	  "UC and UD messages dropped because memory was not present")	\
	X(CQ_OVERFLOWS, cq_overflows, "completion queues that overflowed") \
	X(CQ_EVENTS_WITHHELD, cq_events_withheld,			\
	  "completion events not raised: 64 of the CQ are not read")	\
	X(ASYNC_EVENTS_WITHHELD, async_events_withheld,			\
	  "asynchronous events not raised: 64 unread, or many contexts")	\
	X(PERSIST_ACKS_SENT, persist_acks_sent,				\
	  "PERSIST ACKs sent")						\
	X(PERSIST_ACKS_RECEIVED, persist_acks_received,			\
	  "PERSIST ACKs received")					\
	X(PERSIST_NAKS_SENT, persist_naks_sent,				\
	  "PERSIST NAKs sent: persisting failed here")			\
	X(PERSIST_NAKS_RECEIVED, persist_naks_received,			\
	  "PERSIST NAKs received: persisting failed at the peer")	\
	X(PERSIST_PROBES, persist_probes,				\
	  "last packets sent again to learn whether a message is durable") \
	X(PERSIST_FENCES, persist_fences,				\
	  "store fences after writing back; the queue pairs of a train share one") \
	X(FLUSHES, flushes, "FLUSH requests executed")			\
	X(FLUSH_BYTES, flush_bytes,					\
	  "bytes written back because a FLUSH asked for it")		\
	X(PERSIST_HOST_FLUSHES, persist_host_flushes,			\
	  "messages handed to the host to make durable")		\
	X(PERSIST_LATE, persist_late,					\
	  "host flushes that were not answered in the time of their region") \
	X(PEER_QUERIES, peer_queries,					\
	  "times a peer was asked what it can make durable")		\
	X(PEER_QUESTIONS, peer_questions,				\
	  "questions of peers what this device can make durable")	\
	X(PEER_BAD_ANSWERS, peer_bad_answers,				\
	  "answers of peers refused: malformed, late, or without a question")	\
	X(PERSIST_FULL, persist_full,					\
	  "messages put off because too many wait for the host")	\
	X(PERSIST_BAD_TOKENS, persist_bad_tokens,			\
	  "releases refused: token unknown, used, late or of another owner") \
	X(PERSIST_RECV_WAITS, persist_recv_waits,			\
	  "times a durable message waited for a posted receive")	\
	X(DOORBELLS, doorbells,						\
	  "queues that a doorbell call named; a call for all marked ones counts 1")		\
	X(RATE_MARKS, rate_marks,					\
	  "times a limited QP had sent what its rate allows")		\
	X(RATE_PURGES, rate_purges,					\
	  "WQEs fetched ahead that a mark dropped")			\
	X(RATE_BYTES, rate_bytes,					\
	  "bytes sent under a rate limit, BTH to ICRC")			\
	X(ROOM_WAITS, room_waits,					\
	  "times a UC or UD queue pair waited for packets to leave this host") \
	X(POLLED_POSTS, polled_posts,					\
	  "queues found in the ready map: posts without a doorbell of their own")	\
	X(QINFO_HITS, qinfo_hits,					\
	  "times the cached write pointer of a queue was new enough")	\
	X(QINFO_MISSES, qinfo_misses,					\
	  "times the write pointer of a queue was read from space 3")	\
	X(LANE_WAKEUPS, lane_wakeups,					\
	  "times a lane began to poll a process's ready map")		\
	X(LANE_SLEEPS, lane_sleeps,					\
	  "times a lane stopped polling and asked for doorbells")	\
	X(LANE_POLL_LIMITS, lane_poll_limits,				\
	  "times a lane had more to poll for posts than fits into a turn") \
	X(CE_RECEIVED, ce_received,					\
	  "packets received with the congestion mark (CE)")		\
	X(CNPS_SENT, cnps_sent, "congestion notifications sent")	\
	X(CNPS_RECEIVED, cnps_received,					\
	  "congestion notifications received")				\
	X(LANE_TURNS, lane_turns, "times a lane served a QP")		\
	X(TIMER_TURNS, timer_turns, "QP sides run because their deadline came")

enum cairn_counter {
#define X(id, name, doc) CAIRN_CTR_##id,
	CAIRN_COUNTERS(X)
#undef X
	CAIRN_CTR_COUNT
};

#endif
