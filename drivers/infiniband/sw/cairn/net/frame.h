/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A train that is being written, see net/frame.c. */
#ifndef CAIRN_NET_FRAME_H
#define CAIRN_NET_FRAME_H

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/dst.h>
#include "net/mtu.h"
#include "net/net.h"

/* A train that is being written: one skb, whose body (everything behind the UDP
 * header) is written from front to back.
 */
struct cairn_frame {
	struct sk_buff *skb;
	u32 ip_len;
	u32 body_len;
	u32 stride;		/* body bytes of each packet but the last */
	u16 id;			/* IPv4, of the next packet */
	bool local;		/* stays on this host: needs no ICRC */
	bool ignores_icmp;	/* only an ICMP message makes them too long */
	struct cairn_room *counted;	/* in it, while the stack has it; or NULL */
	/* base is the ICRC of the headers before the BTH, for packets of
	 * base_len bytes. 0: not computed yet.
	 */
	u32 base_len;
	u32 base;
	/* The next byte of the body, the room there, and its fragment. */
	u8 *to;
	u32 room;
	int frag;
	/* The headers of the packet being written, as on the wire. */
	union {
		struct iphdr v4;
		struct ipv6hdr v6;
		u8 bytes[sizeof(struct ipv6hdr)];
	} ip;
	struct udphdr udp;
};

/* Set the sizes of @frame for @train, which goes along @path. */
void cairn_frame_measure(struct cairn_frame *frame,
			 const struct cairn_path *path,
			 const struct cairn_train *train);

/* False when the stack would have to fragment a packet. Sets frame->ignores_icmp. */
static inline bool cairn_frame_fits(struct cairn_frame *frame,
				    const struct dst_entry *dst)
{
	u32 len = frame->ip_len + sizeof(frame->udp) + frame->stride;

	if (likely(len <= dst_mtu(dst)))
		return true;
	frame->ignores_icmp = cairn_mtu_admits(dst, frame->ip_len == sizeof(frame->ip.v6),
					       len);
	return frame->ignores_icmp;
}

/* Bytes before the body. */
static inline u32 cairn_frame_head(const struct cairn_frame *frame,
				   const struct dst_entry *dst)
{
	return LL_RESERVED_SPACE(dst->dev) + dst->header_len + frame->ip_len +
	       sizeof(frame->udp);
}

/* Reserve the headers in an empty skb that has @head bytes of room for them. */
static inline void cairn_frame_put_head(struct cairn_frame *frame, u32 head)
{
	skb_reserve(frame->skb, head - frame->ip_len - sizeof(frame->udp));
	skb_reset_network_header(frame->skb);
	skb_put(frame->skb, frame->ip_len);
	skb_set_transport_header(frame->skb, frame->ip_len);
	skb_put(frame->skb, sizeof(frame->udp));
	frame->frag = -1;
	frame->room = 0;
}

/* Allocate the skb of a frame that was measured. Return: false without memory. */
bool cairn_frame_alloc(struct cairn_frame *frame, const struct dst_entry *dst);

/* Add @len bytes of room to a body whose bytes so far are written. Return:
 * false without memory or with too many fragments; some room may have been
 * added.
 */
bool cairn_frame_grow(struct cairn_frame *frame, struct page_frag *pages,
		      u32 len);

/* Undo cairn_frame_grow(): only @len bytes of the body stay. */
void cairn_frame_cut(struct cairn_frame *frame, u32 len);

/* Fill in the headers that all packets have in common. */
void cairn_frame_template(struct cairn_frame *frame,
			  const struct cairn_path *path, bool ect);

/* Write @len bytes of the body. */
void cairn_frame_put_bytes(struct cairn_frame *frame, const void *from,
			   u32 len);

/* Write packets into the body. Return: the number of messages before the first
 * that failed; 0 if a train that is not one of messages failed; else all.
 */
u32 cairn_frame_fill(struct cairn_nic *nic, struct cairn_frame *frame,
		     const struct cairn_packets *packets);

/* Write the headers when the body of @count packets is complete. */
void cairn_frame_finish(struct cairn_frame *frame, u32 count,
			const struct dst_entry *dst);

#endif
