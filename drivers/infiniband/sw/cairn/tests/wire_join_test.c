// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Packets of many queue pairs in one train: what goes in comes out again, packet
 * by packet, where segmentation cuts.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include "sim/rand.h"
#include "wire/join.h"
#include "ktap.h"

#define ROOM		16384
#define PACKETS		4096

/* A packet: whose, its number there, its length. */
struct packet {
	u32 qpn, number, len;
};

struct road {
	struct cairn_join join;
	struct packet in[CAIRN_JOIN_MAX];	/* of the open train */
	u32 next[8];		/* number that arrives next, by queue pair */
	u32 arrived;
	u32 trains;
	u32 lost;		/* the number of the packet that is dropped */
};

/* Cut as segmentation does: stride bytes each, the rest is the last packet. */
static void join_leave(struct road *road)
{
	u32 done, len, k = 0;

	for (done = 0; done < road->join.len; done += len, k++) {
		const struct packet *pkt = &road->in[k];

		len = min(road->join.stride, road->join.len - done);
		if (!ktap_ok(k < road->join.count) ||
		    !ktap_eq(len, pkt->len))
			return;
		if (road->arrived++ == road->lost)
			continue;
		/* In order, whatever happened to those of others. */
		ktap_ok(pkt->number >= road->next[pkt->qpn]);
		road->next[pkt->qpn] = pkt->number + 1;
	}
	ktap_eq(k, road->join.count);
	road->trains++;
	road->join = (struct cairn_join){};
}

static void join_send(struct road *road, const struct packet *pkt, u32 count,
		      u32 stride, u32 len)
{
	if (!cairn_join_fits(&road->join, ROOM, count, stride, len)) {
		join_leave(road);
		ktap_ok(cairn_join_fits(&road->join, ROOM, count, stride, len));
	}
	for (u32 k = 0; k < count; k++)
		road->in[road->join.count + k] = pkt[k];
	cairn_join_add(&road->join, count, stride, len);
	ktap_ok(road->join.count <= CAIRN_JOIN_MAX && road->join.len <= ROOM);
}

static void packets_come_out_as_they_went_in(void)
{
	static const u32 lens[] = { 20, 32, 96, 96, 96, 1100 };

	for (u32 seed = 0; seed < 200; seed++) {
		struct sim_rand rand = { seed };
		struct road road = { .lost = sim_below(&rand, PACKETS) };
		u32 number[8] = {}, sent = 0;

		while (sent < PACKETS) {
			u32 qpn = sim_below(&rand, 8), len = 0, k;
			u32 count = 1 + sim_below(&rand, 3) *
					    sim_below(&rand, 5);
			u32 stride = lens[sim_below(&rand, 6)];
			struct packet pkt[16];

			for (k = 0; k < count; k++) {
				pkt[k] = (struct packet){
					qpn, number[qpn]++, stride
				};
				if (k + 1 == count && count > 1)
					pkt[k].len -= 4 * sim_below(&rand, 3);
				len += pkt[k].len;
			}
			join_send(&road, pkt, count, stride, len);
			sent += count;
		}
		join_leave(&road);
		ktap_eq(road.arrived, sent);
		ktap_ok(road.trains < sent);
	}
}

/* Packets of as many queue pairs, all alike: one train. */
static void alike_is_one_train(void)
{
	struct road road = { .lost = U32_MAX };
	u32 k;

	for (k = 0; k < CAIRN_JOIN_MAX; k++)
		join_send(&road, &(struct packet){ k % 8, k / 8, 96 }, 1, 96, 96);
	ktap_eq(road.trains, 0);
	join_leave(&road);
	ktap_eq(road.trains, 1);
	ktap_eq(road.arrived, CAIRN_JOIN_MAX);
}

/* A shorter packet ends the train, a longer one begins another. */
static void lengths_decide(void)
{
	struct cairn_join join = {};

	cairn_join_add(&join, 1, 96, 96);
	ktap_ok(!cairn_join_fits(&join, ROOM, 1, 100, 100));
	ktap_ok(!cairn_join_fits(&join, ROOM, 2, 92, 184));
	ktap_ok(cairn_join_fits(&join, ROOM, 2, 96, 188));
	ktap_ok(cairn_join_fits(&join, ROOM, 1, 20, 20));
	ktap_ok(!cairn_join_fits(&join, 100, 1, 20, 20));
	cairn_join_add(&join, 1, 20, 20);
	ktap_eq(join.count, 2);
	ktap_eq(join.len, 116);
	ktap_ok(!cairn_join_fits(&join, ROOM, 1, 20, 20));
	ktap_ok(!cairn_join_fits(&join, ROOM, 1, 96, 96));
}

static const struct ktap_test tests[] = {
	KTAP(packets_come_out_as_they_went_in),
	KTAP(alike_is_one_train),
	KTAP(lengths_decide),
};

KTAP_MAIN(tests)
