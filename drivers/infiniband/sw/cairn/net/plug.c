// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Trains that leave together.
 *
 * Between cairn_net_plug() and cairn_net_unplug(), short trains of one flow
 * stay open and are joined to one train, also from different queue pairs. Small
 * packets are written to memory of the CPU. They are copied into an skb when
 * they leave, because its size is known only then. Larger packets are written
 * into page fragments of an skb that grows, and are not copied again.
 *
 * Their answers speak of data that this CPU has written back. One fence serves them all,
 * before the first packet leaves (cairn_net_settle()).
 */
#include <linux/mm.h>
#include <linux/uidgid.h>
#include <net/ipv6.h>
#include "device/cpu.h"
#include "engine/window.h"
#include "lane/room.h"
#include "net/plug.h"
#include "net/routing.h"
#include "net/tx.h"
#include "persist/flush.h"
#include "wire/join.h"

/* Open trains of a CPU, each of a different flow. */
#define PLUG_FLOWS	4
/* Memory of the CPU for each, and the size of packets that are written to it.
 */
#define PLUG_OPEN_BYTES	16384
#define PLUG_SMALL	(PLUG_OPEN_BYTES / CAIRN_JOIN_MAX)
/* Longer trains do not gain from being joined. */
#define PLUG_JOIN_BYTES	(CAIRN_TRAIN_BYTES / 2)

/* A train that others may join. While its frame has no skb, its body is in
 * memory of the CPU.
 */
struct cairn_open {
	struct cairn_frame frame;
	struct cairn_join join;
	struct cairn_nic *nic;
	struct cairn_path path;	/* of the first train; holds no reference */
	struct dst_entry *dst;
	u32 bytes;		/* payload of all */
	bool ect;
	u8 *body;		/* PLUG_OPEN_BYTES */
};

/* Each CPU has one, and uses it below cairn_cpu_lock(): it needs no other lock.
 */
struct plug_cpu {
	struct cairn_open open[PLUG_FLOWS];
	unsigned int victim;
	u8 *memory;
	struct page_frag pages;		/* for the skbs of open trains */
};

static DEFINE_PER_CPU(struct plug_cpu, plugs);
DEFINE_PER_CPU(struct cairn_plug_state, cairn_plug_state);

/* Copy the body from memory of the CPU into an skb. */
static bool plug_copy(struct cairn_open *open)
{
	if (!cairn_frame_alloc(&open->frame, open->dst))
		return false;
	cairn_frame_put_bytes(&open->frame, open->body, open->join.len);
	return true;
}

/* Send an open train. Its place is freed first: the stack may call back into
 * this file while it sends the skb.
 */
static void plug_leave(struct cairn_open *open)
{
	struct cairn_open out = *open;
	struct cairn_room *room = open->frame.counted;
	bool left;

	open->join = (struct cairn_join){};
	open->frame.skb = NULL;
	out.frame.body_len = out.join.len;
	left = out.frame.skb || plug_copy(&out);
	if (left) {
		cairn_frame_finish(&out.frame, out.join.count, out.dst);
		left = cairn_net_tx_send(out.nic, &out.frame, &out.path, out.dst);
	}
	if (room)
		cairn_room_unreserve(room, out.join.len);
	cairn_net_tx_count(out.nic, out.join.count, out.bytes, left,
			   CAIRN_CTR_TX_DROPPED);
}

static bool plug_same_flow(const struct cairn_path *one,
			   const struct cairn_path *other)
{
	return one->sport == other->sport && one->ipv6 == other->ipv6 &&
	       one->tos == other->tos && one->ttl == other->ttl &&
	       one->flow_label == other->flow_label &&
	       one->ifindex == other->ifindex &&
	       uid_eq(one->uid, other->uid) &&
	       ipv6_addr_equal(&one->daddr, &other->daddr) &&
	       ipv6_addr_equal(&one->saddr, &other->saddr);
}

static struct cairn_open *plug_find(struct plug_cpu *plug,
				    const struct cairn_nic *nic,
				    const struct cairn_path *path, bool ect,
				    const struct cairn_room *room)
{
	struct cairn_open *open;

	for (open = plug->open; open < plug->open + PLUG_FLOWS; open++)
		if (open->join.count && open->nic == nic && open->ect == ect &&
		    open->frame.counted == room &&
		    plug_same_flow(&open->path, path))
			return open;
	return NULL;
}

/* Find a place for another open train, or NULL. May have to send one first. */
static struct cairn_open *plug_place(struct plug_cpu *plug)
{
	struct cairn_open *open;

	for (open = plug->open; open < plug->open + PLUG_FLOWS; open++)
		if (!open->join.count)
			return open;
	open = &plug->open[plug->victim++ % PLUG_FLOWS];
	plug_leave(open);
	/* The stack may have called back and taken the place again. */
	return open->join.count ? NULL : open;
}

/* Get the memory for the body of an open train. */
static bool plug_alloc(struct cairn_open *open)
{
	struct cairn_frame *frame = &open->frame;
	u32 head = cairn_frame_head(frame, open->dst);

	frame->skb = NULL;
	frame->to = open->body;
	frame->room = PLUG_OPEN_BYTES;
	if (frame->stride <= PLUG_SMALL)
		return true;
	frame->skb = alloc_skb(head, GFP_ATOMIC | __GFP_NOWARN);
	if (frame->skb)
		cairn_frame_put_head(frame, head);
	return frame->skb;
}

/* The largest body that the open train may have, in bytes. */
static u32 plug_room(const struct cairn_open *open)
{
	return open->frame.skb ? CAIRN_TRAIN_BYTES : PLUG_OPEN_BYTES;
}

/* Cut the body behind the last complete train, when adding another one failed.
 */
static void plug_revert(struct cairn_open *open)
{
	struct cairn_frame *frame = &open->frame;

	if (!frame->skb) {
		frame->to = open->body + open->join.len;
		frame->room = PLUG_OPEN_BYTES - open->join.len;
	} else if (open->join.count) {
		cairn_frame_cut(frame, open->join.len);
	} else {
		kfree_skb(frame->skb);
		frame->skb = NULL;
	}
}

/* Begin an open train for @train, measured by @frame. NULL: not possible. */
static struct cairn_open *plug_begin(struct plug_cpu *plug,
				     struct cairn_nic *nic,
				     struct cairn_path *path,
				     const struct cairn_train *train,
				     struct cairn_frame *frame)
{
	struct dst_entry *dst = cairn_net_route(nic, path);
	struct cairn_open *open;

	if (!dst || !cairn_frame_fits(frame, dst))
		return NULL;
	open = plug_place(plug);
	if (!open)
		return NULL;
	open->frame = *frame;
	open->frame.id = train->first.psn;
	open->dst = dst;
	if (!plug_alloc(open))
		return NULL;
	cairn_frame_template(&open->frame, path, train->ect);
	open->nic = nic;
	open->path = *path;
	open->bytes = 0;
	open->ect = train->ect;
	return open;
}

struct cairn_open *cairn_plug_join(struct cairn_nic *nic,
				   struct cairn_path *path,
				   const struct cairn_train *train,
				   struct cairn_frame *frame)
{
	struct plug_cpu *plug = this_cpu_ptr(&plugs);
	struct cairn_open *open;

	if (!this_cpu_read(cairn_plug_state.depth))
		return NULL;
	open = plug_find(plug, nic, path, train->ect, frame->counted);
	if (open && !cairn_join_fits(&open->join, plug_room(open),
				     train->count, frame->stride,
				     frame->body_len)) {
		plug_leave(open);
		open = NULL;
	}
	if (!open && frame->body_len <= PLUG_JOIN_BYTES)
		open = plug_begin(plug, nic, path, train, frame);
	if (!open || !open->frame.skb ||
	    cairn_frame_grow(&open->frame, &plug->pages, frame->body_len))
		return open;
	plug_revert(open);
	if (open->join.count)
		plug_leave(open);
	return NULL;
}

/* Account for @train, whose packets have been written to @open. */
static void plug_add(struct cairn_open *open, const struct cairn_train *train,
		     const struct cairn_frame *frame)
{
	if (open->join.count)
		cairn_nic_count(open->nic, CAIRN_CTR_TX_JOINED, train->count);
	cairn_join_add(&open->join, train->count, frame->stride,
		       frame->body_len);
	if (frame->counted)
		cairn_room_reserve(frame->counted, frame->body_len);
	open->bytes += train->length;
	this_cpu_inc(cairn_plug_state.added);
}

/* Discard bytes written behind the last complete train of @open. @id: the IPv4
 * id of the next packet.
 */
static void plug_undo(struct cairn_open *open, u16 id)
{
	open->frame.id = id;
	plug_revert(open);
}

u32 cairn_plug_fill(struct cairn_open *open, const struct cairn_packets *packets,
		    const struct cairn_frame *frame)
{
	u16 id = open->frame.id;
	u32 n;

	n = cairn_frame_fill(open->nic, &open->frame, packets);
	if (n == packets->train->count)
		plug_add(open, packets->train, frame);
	else
		plug_undo(open, id);
	return n;
}

/* The first open train, or NULL. */
static struct cairn_open *plug_any(struct plug_cpu *plug)
{
	struct cairn_open *open;

	for (open = plug->open; open < plug->open + PLUG_FLOWS; open++)
		if (open->join.count)
			return open;
	return NULL;
}

void cairn_net_plug(void)
	__acquires(RCU)
{
	cairn_cpu_assert_locked();
	rcu_read_lock();
	this_cpu_inc(cairn_plug_state.depth);
}

void cairn_net_unplug(void)
	__releases(RCU)
{
	struct plug_cpu *plug = this_cpu_ptr(&plugs);
	struct cairn_open *open;

	/* The stack may call back and open others: search again after each. */
	while (this_cpu_read(cairn_plug_state.depth) == 1) {
		open = plug_any(plug);
		if (!open)
			break;
		plug_leave(open);
	}
	/* If no packet has left, the fence is still due. */
	cairn_net_settle();
	this_cpu_dec(cairn_plug_state.depth);
	rcu_read_unlock();
}

bool cairn_net_fence_later(struct cairn_nic *nic)
{
	cairn_cpu_assert_locked();
	if (!this_cpu_read(cairn_plug_state.depth))
		return false;
	this_cpu_write(cairn_plug_state.unfenced, nic);
	return true;
}

/* Not inlined: scripts/check/fence.py looks for its calls. */
noinline void cairn_net_settle(void)
{
	struct cairn_nic *nic = this_cpu_read(cairn_plug_state.unfenced);

	if (!nic)
		return;
	this_cpu_write(cairn_plug_state.unfenced, NULL);
	cairn_nic_count(nic, CAIRN_CTR_PERSIST_FENCES, 1);
	cairn_flush_fence();
}

static void plug_init(struct plug_cpu *plug)
{
	u32 i;

	for (i = 0; i < PLUG_FLOWS; i++)
		plug->open[i].body = plug->memory + i * PLUG_OPEN_BYTES;
}

int cairn_plug_start(void)
{
	struct plug_cpu *plug;
	int cpu;

	for_each_possible_cpu(cpu) {
		plug = per_cpu_ptr(&plugs, cpu);
		plug->memory = kvmalloc_node(PLUG_FLOWS * PLUG_OPEN_BYTES,
					     GFP_KERNEL, cpu_to_node(cpu));
		if (!plug->memory) {
			cairn_plug_stop();
			return -ENOMEM;
		}
		plug_init(plug);
	}
	return 0;
}

void cairn_plug_stop(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct plug_cpu *plug = per_cpu_ptr(&plugs, cpu);

		kvfree(plug->memory);
		plug->memory = NULL;
		if (plug->pages.page)
			put_page(plug->pages.page);
		plug->pages.page = NULL;
	}
}
