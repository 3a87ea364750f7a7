// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Aligned words are stored whole (engine/words.h): whatever the pieces are, and
 * seen from outside after each single machine instruction.
 */
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>
#include <linux/array_size.h>
#include "engine/words.h"
#include "ktap.h"

#define AREA	192	/* bytes; the message lies somewhere inside */
#define OLD	0x11

/* A message that is being placed, and what it is made of. */
struct place {
	u8 *area;		/* aligned, AREA bytes */
	u8 bytes[AREA];		/* bytes[i] belongs at area[i]; none is OLD */
	u32 from, to;		/* the part of the area that is the message */
};

static void place_init(struct place *p, u8 *area, u32 from, u32 to)
{
	u32 i;

	*p = (struct place){ .area = area, .from = from, .to = to };
	memset(area, OLD, AREA);
	for (i = 0; i < AREA; i++)
		p->bytes[i] = 0x80 | i;
}

/* Is each word that the message covers old or new, and all else as it was? */
static bool place_whole(const struct place *p)
{
	static const u8 old[8] = { OLD, OLD, OLD, OLD, OLD, OLD, OLD, OLD };
	u32 w, i;

	for (w = 0; w < AREA; w += 8) {
		if (w >= p->from && w + 8 <= p->to &&
		    memcmp(p->area + w, old, 8) &&
		    memcmp(p->area + w, p->bytes + w, 8))
			return false;
		for (i = w; i < w + 8; i++)
			if (p->area[i] != OLD && (p->area[i] != p->bytes[i] ||
						  i < p->from || i >= p->to))
				return false;
	}
	return true;
}

static bool place_done(const struct place *p)
{
	return place_whole(p) &&
	       !memcmp(p->area + p->from, p->bytes + p->from, p->to - p->from);
}

/* Pieces come from memory of any alignment, with nothing behind. */
static void words_put(struct cairn_words *words, const struct place *p, u32 from,
		u32 to)
{
	u8 *piece = malloc(to - from + (from * 3) % 8 + 1);
	u8 *start = piece + (from * 3) % 8;

	memcpy(start, p->bytes + from, to - from);
	cairn_words_put(words, p->area + from, start, to - from);
	free(piece);
}

/* Every start, every length, cut at every two places. */
static void any_pieces(void)
{
	static u8 area[AREA] __aligned(8);
	u32 from, to, a, b, bad = 0;

	for (from = 8; from < 16; from++)
	for (to = from + 1; to < from + 36; to++)
	for (a = from; a <= to; a++)
	for (b = a; b <= to; b++) {
		struct cairn_words words = { .len = 0 };
		struct place p;

		place_init(&p, area, from, to);
		words_put(&words, &p, from, a);
		bad += !place_whole(&p);
		words_put(&words, &p, a, b);
		bad += !place_whole(&p);
		words_put(&words, &p, b, to);
		bad += !place_whole(&p);
		cairn_words_end(&words, area + to);
		bad += !place_done(&p) || words.len;
	}
	ktap_eq(bad, 0);
}

static void byte_by_byte(void)
{
	static u8 area[AREA] __aligned(8);
	struct cairn_words words = { .len = 0 };
	struct place p;
	u32 i;

	place_init(&p, area, 3, 150);
	for (i = 3; i < 150; i++) {
		words_put(&words, &p, i, i + 1);
		ktap_ok(place_whole(&p));
		/* nothing is held longer than needed */
		ktap_eq(words.len, i < 8 ? 0 : (i + 1) % 8);
	}
	cairn_words_end(&words, area + 150);
	ktap_ok(place_done(&p));
}

/* Two fragments of one packet, then the next packet: as env.c does it. */
static noinline void place_words(const struct place *p)
{
	static const u32 ends[] = { 45, 92, 149 };
	struct cairn_words words = { .len = 0 };
	u32 from = p->from, i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		cairn_words_put(&words, p->area + from, p->bytes + from,
				ends[i] - from);
		from = ends[i];
	}
	cairn_words_end(&words, p->area + from);
}

/* The fault that must be found: stores of four bytes. */
static noinline void place_halves(const struct place *p)
{
	u32 i = p->from;

	for (; i + 4 <= p->to; i += 4)
		*(volatile u32 *)(p->area + i) = *(const u32 *)(p->bytes + i);
	for (; i < p->to; i++)
		*(volatile u8 *)(p->area + i) = p->bytes[i];
}

/* Run @fn one instruction at a time. Return: instructions until a torn word was seen; 0:
 * none was; -1: it cannot be observed on this machine.
 */
static long place_stepwise(const struct place *p,
			   void (*fn)(const struct place *p))
{
	long steps = 0, torn = 0;
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(2);
		raise(SIGSTOP);
		fn(p);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (steps++ && !torn && !place_whole(p))
			torn = steps;
		ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return -1;
	ktap_diag("%ld instructions", steps);
	return torn;
}

static void every_instruction(void)
{
	u8 *area = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct place p;
	long torn;

	place_init(&p, area, 20, 148);
	torn = place_stepwise(&p, place_halves);
	if (torn < 0) {
		ktap_skip("no ptrace");
		goto out;
	}
	ktap_ok(torn > 0);
	ktap_ok(!memcmp(area + 20, p.bytes + 20, 128));
	place_init(&p, area, 13, 149);
	ktap_eq(place_stepwise(&p, place_words), 0);
	ktap_ok(place_done(&p));
out:
	munmap(area, 4096);
}

static const struct ktap_test tests[] = {
	KTAP(any_pieces),
	KTAP(byte_by_byte),
	KTAP(every_instruction),
};

KTAP_MAIN(tests)
