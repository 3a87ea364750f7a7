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

static void place_init(struct place *place, u8 *area, u32 from, u32 to)
{
	u32 i;

	*place = (struct place){ .area = area, .from = from, .to = to };
	memset(area, OLD, AREA);
	for (i = 0; i < AREA; i++)
		place->bytes[i] = 0x80 | i;
}

/* Is each word that the message covers old or new, and all else as it was? */
static bool place_whole(const struct place *place)
{
	static const u8 old[8] = { OLD, OLD, OLD, OLD, OLD, OLD, OLD, OLD };
	u32 w, i;

	for (w = 0; w < AREA; w += 8) {
		if (w >= place->from && w + 8 <= place->to &&
		    memcmp(place->area + w, old, 8) &&
		    memcmp(place->area + w, place->bytes + w, 8))
			return false;
		for (i = w; i < w + 8; i++)
			if (place->area[i] != OLD && (place->area[i] != place->bytes[i] ||
						      i < place->from || i >= place->to))
				return false;
	}
	return true;
}

static bool place_done(const struct place *place)
{
	return place_whole(place) &&
	       !memcmp(place->area + place->from, place->bytes + place->from,
			place->to - place->from);
}

/* Pieces come from memory of any alignment, with nothing behind. */
static void words_put(struct cairn_words *words, const struct place *place, u32 from,
		u32 to)
{
	u8 *piece = malloc(to - from + (from * 3) % 8 + 1);
	u8 *start = piece + (from * 3) % 8;

	memcpy(start, place->bytes + from, to - from);
	cairn_words_put(words, place->area + from, start, to - from);
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
		struct place place;

		place_init(&place, area, from, to);
		words_put(&words, &place, from, a);
		bad += !place_whole(&place);
		words_put(&words, &place, a, b);
		bad += !place_whole(&place);
		words_put(&words, &place, b, to);
		bad += !place_whole(&place);
		cairn_words_end(&words, area + to);
		bad += !place_done(&place) || words.len;
	}
	ktap_eq(bad, 0);
}

static void byte_by_byte(void)
{
	static u8 area[AREA] __aligned(8);
	struct cairn_words words = { .len = 0 };
	struct place place;
	u32 i;

	place_init(&place, area, 3, 150);
	for (i = 3; i < 150; i++) {
		words_put(&words, &place, i, i + 1);
		ktap_ok(place_whole(&place));
		/* nothing is held longer than needed */
		ktap_eq(words.len, i < 8 ? 0 : (i + 1) % 8);
	}
	cairn_words_end(&words, area + 150);
	ktap_ok(place_done(&place));
}

/* Two fragments of one packet, then the next packet: as env.c does it. */
static noinline void place_words(const struct place *place)
{
	static const u32 ends[] = { 45, 92, 149 };
	struct cairn_words words = { .len = 0 };
	u32 from = place->from, i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		cairn_words_put(&words, place->area + from, place->bytes + from,
				ends[i] - from);
		from = ends[i];
	}
	cairn_words_end(&words, place->area + from);
}

/* The fault that must be found: stores of four bytes. */
static noinline void place_halves(const struct place *place)
{
	u32 i = place->from;

	for (; i + 4 <= place->to; i += 4)
		*(volatile u32 *)(place->area + i) = *(const u32 *)(place->bytes + i);
	for (; i < place->to; i++)
		*(volatile u8 *)(place->area + i) = place->bytes[i];
}

/* Run @fn one instruction at a time. Return: instructions until a torn word was seen; 0:
 * none was; -1: it cannot be observed on this machine.
 */
static long place_stepwise(const struct place *place,
			   void (*fn)(const struct place *place))
{
	long steps = 0, torn = 0;
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(2);
		raise(SIGSTOP);
		fn(place);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (steps++ && !torn && !place_whole(place))
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
	struct place place;
	long torn;

	place_init(&place, area, 20, 148);
	torn = place_stepwise(&place, place_halves);
	if (torn < 0) {
		ktap_skip("no ptrace");
		goto out;
	}
	ktap_ok(torn > 0);
	ktap_ok(!memcmp(area + 20, place.bytes + 20, 128));
	place_init(&place, area, 13, 149);
	ktap_eq(place_stepwise(&place, place_words), 0);
	ktap_ok(place_done(&place));
out:
	munmap(area, 4096);
}

static const struct ktap_test tests[] = {
	KTAP(any_pieces),
	KTAP(byte_by_byte),
	KTAP(every_instruction),
};

KTAP_MAIN(tests)
