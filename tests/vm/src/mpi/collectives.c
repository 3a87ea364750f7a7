// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The traffic of MPI programs: messages of many sizes with tags, any source,
 * collectives, and one-sided access. Everything that arrives is compared.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX	(1 << 20)

static int rank, size;
static unsigned char *mine, *theirs;

static void must(int holds, const char *what, long n)
{
	if (holds)
		return;
	printf("rank %d: %s, %ld\n", rank, what, n);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned char collectives_pattern(int from, long len, long i)
{
	return (unsigned char)(from * 31 + len * 7 + i * 13 + (i >> 8));
}

static void collectives_fill(unsigned char *buf, int from, long len)
{
	for (long i = 0; i < len; i++)
		buf[i] = collectives_pattern(from, len, i);
}

static int collectives_match(const unsigned char *buf, int from, long len)
{
	for (long i = 0; i < len; i++)
		if (buf[i] != collectives_pattern(from, len, i))
			return 0;
	return 1;
}

/* Messages around the ring, in both directions at once; long ones by rendezvous. */
static void collectives_tagged(void)
{
	int right = (rank + 1) % size, left = (rank + size - 1) % size;
	MPI_Request req[2];
	MPI_Status st[2];
	int got;

	for (long len = 0; len <= MAX; len = len ? len * 4 + 1 : 1) {
		collectives_fill(mine, rank, len);
		memset(theirs, 0, (size_t)len);
		MPI_Irecv(theirs, MAX, MPI_BYTE, MPI_ANY_SOURCE, (int)len % 97,
			  MPI_COMM_WORLD, &req[0]);
		MPI_Isend(mine, (int)len, MPI_BYTE, right, (int)len % 97,
			  MPI_COMM_WORLD, &req[1]);
		MPI_Waitall(2, req, st);
		MPI_Get_count(&st[0], MPI_BYTE, &got);
		must(got == len && st[0].MPI_SOURCE == left, "count", len);
		must(collectives_match(theirs, left, len), "message", len);
	}
}

static void collectives_check(void)
{
	long in = rank + 1, sum = 0;

	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Allreduce(&in, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	must(sum == (long)size * (size + 1) / 2, "allreduce", sum);
	for (long len = 1; len <= MAX / size; len *= 16) {
		for (int root = 0; root < size; root++) {
			if (rank == root)
				collectives_fill(theirs, root, len);
			else
				memset(theirs, 0, (size_t)len);
			MPI_Bcast(theirs, (int)len, MPI_BYTE, root,
				  MPI_COMM_WORLD);
			must(collectives_match(theirs, root, len), "bcast", len);
		}
		for (int to = 0; to < size; to++)
			collectives_fill(mine + to * len, rank * size + to, len);
		MPI_Alltoall(mine, (int)len, MPI_BYTE, theirs, (int)len,
			     MPI_BYTE, MPI_COMM_WORLD);
		for (int from = 0; from < size; from++)
			must(collectives_match(theirs + from * len, from * size + rank, len),
			     "alltoall", len);
		collectives_fill(mine, rank, len);
		MPI_Allgather(mine, (int)len, MPI_BYTE, theirs, (int)len,
			      MPI_BYTE, MPI_COMM_WORLD);
		for (int from = 0; from < size; from++)
			must(collectives_match(theirs + from * len, from, len), "allgather", len);
	}
}

/* Put, get and an atomic sum into the next rank's window. */
static void one_sided(void)
{
	int right = (rank + 1) % size, left = (rank + size - 1) % size;
	unsigned char *window;
	const long len = 100000;
	long one = 1, *sum;
	MPI_Win win;

	MPI_Win_allocate(len + 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window,
			 &win);
	sum = (long *)window;
	*sum = 0;
	MPI_Win_fence(0, win);
	collectives_fill(mine, rank, len);
	MPI_Put(mine, (int)len, MPI_BYTE, right, 8, (int)len, MPI_BYTE, win);
	MPI_Win_fence(0, win);
	must(collectives_match(window + 8, left, len), "put", len);
	memset(theirs, 0, (size_t)len);
	MPI_Get(theirs, (int)len, MPI_BYTE, right, 8, (int)len, MPI_BYTE, win);
	MPI_Win_fence(0, win);
	must(collectives_match(theirs, rank, len), "get", len);
	for (int i = 0; i < 100; i++)
		MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM,
			       win);
	MPI_Win_fence(0, win);
	must(rank || *sum == 100L * size, "accumulate", *sum);
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	mine = malloc(MAX);
	theirs = malloc(MAX);
	must(mine && theirs && size > 1, "set-up", size);
	collectives_tagged();
	collectives_check();
	one_sided();
	if (!rank)
		printf("%d ranks: all as expected\n", size);
	MPI_Finalize();
	free(mine);
	free(theirs);
	return 0;
}
