/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Targets of a log that crash. Bytes are placed in memory piece by piece, and reach
 * the medium when they are flushed, or before, in any order and in parts. After
 * each step the simulator builds images of what a power failure could leave, and
 * hands them to sim_check().
 */
#ifndef LOG_SIM_H
#define LOG_SIM_H

#include "log_session.h"
#include "log_target.h"

#define SIM_SIZE	LOG_MIN_SIZE
#define SIM_USED	(LOG_START + 16384u)	/* records lie before that */
#define SIM_LINE	64u
#define SIM_LINES	(SIM_USED / SIM_LINE)
#define SIM_CONNS	4
#define SIM_QUEUE	16
#define SIM_WRITE	512u			/* bytes in one request */
#define SIM_BLOCK	512u			/* bytes, at most */
#define SIM_TARGETS	3

struct sim_request {
	uint64_t offset;
	uint32_t length, placed;
	bool own;		/* not of a group */
	uint8_t bytes[SIM_WRITE];
};

/* A queue pair at a target. Its requests arrive also when the writer is dead. */
struct sim_conn {
	bool alive;
	bool broken;		/* the writer has noticed an error */
	uint64_t serial;
	struct sim_request queue[SIM_QUEUE];
	uint64_t head, placed, flushed;	/* requests posted ... */
	uint64_t told;		/* completions that the writer has seen ... */
	uint64_t own;		/* ... and those of write() among them */
};

enum sim_mode { SIM_PMEM, SIM_FILE };

struct sim_target {
	enum sim_mode mode;
	bool up;
	bool hung;		/* alive, but does nothing */
	bool emulated;		/* and says so ... */
	bool lies;		/* ... or only its completions do */
	int lock;		/* of the process that is up: a file, or -1 */
	int file;		/* stands for the medium */
	bool valid;		/* must have all acknowledged records */
	bool fails;		/* the next flush of its medium */
	bool changed;		/* changed since images were built */
	bool lacks;		/* one of its images lacks acknowledged records */
	struct log_target core;
	struct sim_conn conns[SIM_CONNS];
	/* lines that may differ between cache and medium */
	bool touched[SIM_LINES];
	/* SIM_FILE: lines that the kernel has given up and calls clean */
	bool lost[SIM_LINES];
	_Alignas(8) uint8_t memory[SIM_SIZE];	/* SIM_FILE: the process's */
	_Alignas(8) uint8_t cache[SIM_SIZE];	/* page cache, or CPU caches */
	_Alignas(8) uint8_t medium[SIM_SIZE];
	/* another medium, that an operator has taken out of the machine */
	uint8_t spare[SIM_SIZE];
	bool spare_valid;
};

struct sim_link {
	struct ibv_qp qp;	/* of the group; ->qp_context is the link */
	struct sim_target *target;
	int conn;
	uint64_t serial;
	bool broken;		/* our queue pair is in error */
	uint64_t wr_ids[SIM_QUEUE];
	uint64_t sent, answered;	/* records */
	uint64_t lost;		/* how often it was given up */
};

/* Shared by a writer's links. */
struct sim_nic {
	struct ibv_cq cq;
	struct sim_link links[SIM_TARGETS];
};

struct sim {
	struct sim_target targets[SIM_TARGETS];
	int num_targets;
	uint64_t images;
	uint64_t serial;
	uint64_t random;	/* from a seed */
	uint64_t clock;
	uint32_t block;		/* bytes that a torn write may damage; 0: none */
	bool quiet;		/* no events by itself */
	/* checks an image of @target: false ends the run */
	bool (*check)(struct sim_target *target);
	/* after images of all targets that have changed */
	bool (*check_all)(void);
	bool failed;
};

extern const struct log_link_ops sim_link_ops;
extern struct sim *sim;		/* the one that runs */

void sim_target_init(struct sim_target *target, enum sim_mode mode);
/* The end of a simulation. */
void sim_target_close(struct sim_target *target);
/* The process begins, and sees the contents of the system's cache. */
void sim_target_start(struct sim_target *target);
/* An operator starts a process while another one may be there. */
void sim_target_start_second(struct sim_target *target);
/* The process ends. */
void sim_target_kill(struct sim_target *target);
/* The machine loses its power. */
void sim_target_crash(struct sim_target *target);
/* Another medium, with zeros on it. */
void sim_target_replace(struct sim_target *target);
/* The medium that was taken out before, or an empty one; this one is kept. */
void sim_target_swap(struct sim_target *target);
/* A writer's links, to the first targets of the simulation. */
void sim_nic_init(struct sim_nic *nic);
/* The writer's end of a connection closes and says so. */
void sim_link_leave(struct sim_link *link);
/* Packets arrive, flushes happen; images. */
void sim_step(void);
void sim_images(void);
uint32_t sim_below(uint32_t n);

#endif /* LOG_SIM_H */
