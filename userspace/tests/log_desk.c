// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <string.h>

#include "log_desk.h"

static struct sim desk_sim;

static bool desk_accept(struct sim_target *target)
{
	(void)target;
	return true;
}

void desk_setup(int num_targets, enum sim_mode mode)
{
	for (int i = 0; i < desk_sim.num_targets; i++)
		sim_target_close(&desk_sim.targets[i]);
	memset(&desk_sim, 0, sizeof(desk_sim));
	desk_sim.quiet = true;
	desk_sim.check = desk_accept;
	desk_sim.num_targets = num_targets;
	sim = &desk_sim;
	for (int i = 0; i < num_targets; i++)
		sim_target_init(&desk_sim.targets[i], mode);
}

struct desk desk(uint64_t client, uint32_t flags)
{
	struct desk d = {
		.session = {
			.ops = &sim_link_ops,
			.client = client,
			.flags = flags,
			.buffer_size = SIM_WRITE,
			.depth = SIM_QUEUE,
		},
	};

	memset(&d.session.new_id, (int)client, sizeof(d.session.new_id));
	return d;
}

void desk_close(struct desk *d)
{
	log_session_close(&d->session);
}

int desk_open(struct desk *d, int from, int to)
{
	static const char * const names[] = { "first", "second", "third" };

	log_session_close(&d->session);
	sim_nic_init(&d->nic);
	d->session.buffer = d->buffer;
	d->session.num_peers = 0;
	for (int i = from; i <= to; i++) {
		struct log_peer *peer =
			&d->session.peers[d->session.num_peers++];

		peer->link = &d->nic.links[i];
		peer->name = names[i];
	}
	return log_session_open(&d->session);
}

int desk_append(struct desk *d, int count)
{
	uint64_t record[64], durable = 0, want;
	int err = 0;

	want = d->session.tail.seq - d->session.first + (uint64_t)count;
	while (!err && durable < want) {
		while (count && !err) {
			err = log_session_append(&d->session, (void *)record,
						 d->number + 1, "data", 4);
			d->number += !err;
			count -= !err;
		}
		if (!err || err == EAGAIN)
			err = log_session_poll(&d->session, &durable);
	}
	return err;
}

uint64_t desk_durable_at(int target)
{
	struct log_reader reader;
	uint64_t n;

	if (log_reader_open(&reader, sim->targets[target].medium, SIM_SIZE))
		return UINT64_MAX;
	while (log_reader_next(&reader))
		;
	n = reader.tail.seq - 1;
	log_reader_close(&reader);
	return n;
}

uint64_t desk_epoch_at(int target)
{
	return sim->targets[target].core.header.epoch;
}

bool desk_all_equal(void)
{
	for (int i = 1; i < sim->num_targets; i++)
		if (memcmp(sim->targets[0].medium + LOG_START,
			   sim->targets[i].medium + LOG_START,
			   SIM_USED - LOG_START) != 0)
			return false;
	return true;
}

void desk_restart(int target)
{
	sim_target_kill(&sim->targets[target]);
	sim_target_start(&sim->targets[target]);
}

void desk_flip(int target, uint64_t offset)
{
	sim->targets[target].medium[offset] ^= 1;
	sim->targets[target].cache[offset] ^= 1;
	desk_restart(target);
}
