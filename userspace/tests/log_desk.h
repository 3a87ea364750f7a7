/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Writers of the tests that go step by step: each has a session with targets of the
 * simulator, which do nothing by themselves. test_log_crash.c has the schedules.
 */
#ifndef LOG_DESK_H
#define LOG_DESK_H

#include "log_sim.h"

struct desk {
	struct log_session session;
	struct sim_nic nic;
	uint64_t number;
	uint8_t buffer[SIM_WRITE];
};

/* Closed at the end of its scope. */
#define DESK	__attribute__((cleanup(desk_close))) struct desk

/* A new simulation with so many targets. */
void desk_setup(int num_targets, enum sim_mode mode);
/* A writer. @flags: LOG_ASK_CREATE, ... */
struct desk desk(uint64_t client, uint32_t flags);
void desk_close(struct desk *d);
/* A session of the targets @from to @to. */
int desk_open(struct desk *d, int from, int to);
/* Appends @count records and waits until they are durable. */
int desk_append(struct desk *d, int count);

/* How many records a target's medium has; UINT64_MAX: it has no log. */
uint64_t desk_durable_at(int target);
uint64_t desk_epoch_at(int target);
/* Whether all media have the same records. */
bool desk_all_equal(void);
/* The process of a target ends and begins again. */
void desk_restart(int target);
/* Damages a byte of a target's medium, and restarts it. */
void desk_flip(int target, uint64_t offset);

#endif /* LOG_DESK_H */
