/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The parts of fuzz_verbs share these declarations.
 *
 * fuzz_verbs.c: lives, their objects, the calls, how they end.
 *
 * fuzz_more.c: objects and calls that few programs use.
 *
 * fuzz_trap.c: memory where a copy fails, or waits for a thread of the life.
 *
 * fuzz_fuse.c: a file whose pages come from another process.
 *
 * fuzz_beside.c: a bystander, readers of netlink, and the socket by which lives hand
 * descriptors to each other.
 */
#ifndef CAIRN_VM_FUZZ_H
#define CAIRN_VM_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <infiniband/verbs.h>
#include "vt.h"

#define SLOTS		12	/* objects of a kind that a life knows */
#define CONTEXTS	3
#define ARENA		(1 << 20)
#define SCRATCH		(1 << 18)
#define FUZZ_HINTS	16

/* Counts of the whole run, in memory that all processes share. */
struct fuzz_counts {
	u64 lives, calls, broken, raw, ended, killed, crashed;
	u64 more;	/* calls of fuzz_more.c */
	u64 trapped;	/* commands with a pointer into a trap */
	u64 waited;	/* page faults that a thread of the life answered */
	u64 fused;	/* pages that the file system in a process was asked for */
	u64 passed;	/* descriptors that came from another life */
	u64 netlink;	/* messages to RDMA netlink */
	u64 checks;	/* comparisons of the bystander's memory */
	u64 churned;	/* regions that it registered anew */
	/* any of these fails the test */
	u64 leaks;	/* lives that had the bystander's pattern in their memory */
	u64 damage;	/* bytes of the bystander that changed */
	u64 broken_off;	/* the bystander's connection failed */
};

extern struct fuzz_counts *counts;

#define count(what)	__atomic_fetch_add(&counts->what, 1, __ATOMIC_RELAXED)

/* Lives know this of the bystander, and it must not help them. */
struct fuzz_hint {
	u32 lkey, rkey;
	u64 va;
	u32 qpn;
	u64 not_magic;	/* the complement: the pattern itself is nowhere else */
};

extern struct fuzz_hint *hints;

u64 rnd(void);
u32 below(u32 n);
bool one_in(u32 n);
u64 number(void);
void rnd_seed(u64 seed);

extern struct ibv_context *ctx[CONTEXTS];
extern struct ibv_pd *pd[SLOTS];
extern struct ibv_cq *cq[SLOTS];
extern struct ibv_srq *srq[SLOTS];
extern struct ibv_qp *qp[SLOTS];
extern struct ibv_mr *mr[SLOTS];
extern struct ibv_mw *mw[SLOTS];
extern u8 *arena;

#define slot(kind)	(&kind[below(SLOTS)])

struct ibv_context *any_ctx(void);
struct ibv_ah_attr any_ah(void);
/* A key of this life, of the bystander, one that may come next, or nonsense. */
u32 guess_key(void);

/* --- fuzz_more.c --- */

void more_calls(void);
/* A region on demand, or of a dma-buf. */
struct ibv_mr *more_region(struct ibv_pd *of, u8 *addr, size_t len);
struct ibv_qp *more_posting_qp(struct ibv_pd *of, const struct ibv_qp_init_attr *init);
/* Memory below a region changes. */
void more_memory(void);

/* --- fuzz_trap.c --- */

/* Once in a life, before it drops its privileges. */
void trap_setup(u64 seed);
/* Copy @len bytes of @data so that accesses to a part of them fail or wait. Return: NULL
 * if there is no room.
 */
void *trap_place(const void *data, size_t len);
/* Put a page that waits below a page of the arena. */
void trap_arena(u8 *page);

/* --- fuzz_fuse.c --- */

#define FUSE_FILE_SIZE	(1ULL << 40)

/* Once, before there are lives. false: this kernel has no FUSE. */
bool fuse_start(void);
bool fuse_alive(void);
void fuse_stop(void);
/* Read and written; its pages are new to the kernel at most offsets. -1: none. */
extern int fuse_file;

/* --- fuzz_beside.c --- */

bool beside_start(u32 readers, u64 seed);
/* Return: false if one of them ended by itself. */
bool beside_alive(void);
void beside_stop(void);
/* Give @fd to any life that takes it; take one of another life, or -1. */
void beside_give(int fd);
int beside_take(void);
/* Search for the bystander's pattern. A life calls beside_scan_setup() once, while it
 * has the privileges.
 */
void beside_scan_setup(void);
void beside_scan(const void *mem, size_t len);

#endif
