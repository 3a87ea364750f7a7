// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * WRITE_PERSIST into files on a DAX file system, in the directory CAIRN_FILES. Device a
 * writes, device b is the target. Each test has files of its own, and deletes them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "vt_persist.h"
#include "vt_test.h"

#define PAGE		4096u
#define FILE_BYTES	(64u * PAGE)
#define LONG_MS		vt_ms(30000)
#define DEMAND		(VT_REMOTE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND)
#define ROUNDS		8
/* The file system ends at once, without its journal: <linux/fs.h> does not have it yet. */
#define SHUTDOWN	_IOR('X', 125, __u32)
#define SHUTDOWN_NO_LOG	2u
/* Pages that are written before, one that is written again behind the end, and a hole. */
#define SHUT_PAGES	30u
#define SHUT_AGAIN	(5 * PAGE)
#define SHUT_HOLE	(40 * PAGE)

static struct vt_dev da, db;

/* A file at the target, mapped and registered, and a writer. */
struct pair {
	struct vt_end a, b;
	char path[PATH_MAX];
	int fd;
	u8 *buf;
	struct ibv_mr *mr;
};

static int file_open(char *path, const char *name)
{
	const char *dir = getenv("CAIRN_FILES");

	must(dir);
	snprintf(path, PATH_MAX, "%s/%s", dir, name);
	return open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
}

static u8 *file_map(void *at, int fd, int flags)
{
	u8 *bytes = mmap(at, FILE_BYTES, PROT_READ | PROT_WRITE,
			 flags | (at ? MAP_FIXED : 0), fd, 0);

	return bytes == MAP_FAILED ? NULL : bytes;
}

static u8 *file_map_sync(void *at, int fd)
{
	return file_map(at, fd, MAP_SHARED_VALIDATE | MAP_SYNC);
}

/* A sparse file: no block is allocated yet. */
static void pair_create(struct pair *pair)
{
	struct vt_opts opts = VT_OPTS;

	memset(pair, 0, sizeof(*pair));
	pair->fd = file_open(pair->path, "region");
	must(pair->fd >= 0);
	must(!ftruncate(pair->fd, FILE_BYTES));
	pair->buf = file_map_sync(NULL, pair->fd);
	must(pair->buf);
	pair->mr = ibv_reg_mr(db.pd, pair->buf, FILE_BYTES, DEMAND | VT_NIC);
	must(pair->mr);
	must(!vt_end_create(&pair->a, &da, &opts, FILE_BYTES));
	must(!vt_end_create(&pair->b, &db, &opts, PAGE));
	must(!vt_connect(&pair->a, &pair->b));
	vt_fill(pair->a.buf, FILE_BYTES, 7);
}

static void pair_destroy(struct pair *pair)
{
	vt_end_destroy(&pair->a);
	vt_end_destroy(&pair->b);
	ktap_eq(ibv_dereg_mr(pair->mr), 0);
	munmap(pair->buf, FILE_BYTES);
	close(pair->fd);
	unlink(pair->path);
}

static enum ibv_wc_status pair_do(struct pair *pair, enum ibv_wr_opcode opcode, size_t at,
				  u32 len, struct cairndv_persist_info *info)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)pair->a.buf + at, .length = len,
		.lkey = pair->a.mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {
			.remote_addr = (uintptr_t)pair->buf + at,
			.rkey = pair->mr->rkey,
		},
	};
	u64 end = vt_now_ms() + LONG_MS;
	unsigned int idle = 0;
	struct ibv_wc wc;
	int n;

	must(!ibv_post_send(pair->a.qp, &wr, &bad));
	while (!(n = cairndv_poll_cq(pair->a.scq, 1, &wc, info)) && vt_now_ms() < end)
		vt_relax(&idle);
	must(n == 1);
	return wc.status;
}

static enum ibv_wc_status pair_write(struct pair *pair, size_t at, u32 len)
{
	return pair_do(pair, CAIRNDV_WR_WRITE_PERSIST, at, len, NULL);
}

/* Has the file what was written, by read(2)? */
static bool file_has(struct pair *pair, size_t at, u32 len)
{
	static u8 bytes[FILE_BYTES];

	must(pread(pair->fd, bytes, len, (off_t)at) == (ssize_t)len);
	return !memcmp(bytes, pair->a.buf + at, len);
}

/* --- registration --------------------------------------------------------- */

static void registration(void)
{
	char path[PATH_MAX];
	int fd;
	u8 *buf;

	fd = file_open(path, "registered");
	must(fd >= 0 && !ftruncate(fd, FILE_BYTES));
	buf = file_map_sync(NULL, fd);
	must(buf);
	/* a file is not pinned */
	REFUSED_MR(ibv_reg_mr(db.pd, buf, FILE_BYTES, VT_REMOTE | VT_NIC), EOPNOTSUPP);
	REFUSED_MR(ibv_reg_mr(db.pd, buf, FILE_BYTES, DEMAND | VT_HOST), EOPNOTSUPP);
	REFUSED_MR(ibv_reg_mr(db.pd, NULL, SIZE_MAX, DEMAND | VT_NIC), EINVAL);
	/* FLUSH needs pages that are written back before they go */
	REFUSED_MR(ibv_reg_mr(db.pd, buf, FILE_BYTES, DEMAND | VT_FLUSH), EOPNOTSUPP);
	ktap_eq(vt_domain(&db, buf, FILE_BYTES, DEMAND | VT_NIC | VT_FLUSH), CAIRNDV_DOMAIN_PMEM);
	ktap_eq(vt_domain(&db, buf + 5, FILE_BYTES - 9, DEMAND | VT_NIC), CAIRNDV_DOMAIN_PMEM);
	ktap_eq(vt_domain(&db, buf, FILE_BYTES, DEMAND | VT_EMULATED), CAIRNDV_DOMAIN_EMULATED);

	/* one page in the middle is other memory, or is not mapped */
	must(mmap(buf + 8 * PAGE, PAGE, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
	REFUSED_MR(ibv_reg_mr(db.pd, buf, FILE_BYTES, DEMAND | VT_NIC), EINVAL);
	munmap(buf + 8 * PAGE, PAGE);
	REFUSED_MR(ibv_reg_mr(db.pd, buf, FILE_BYTES, DEMAND | VT_NIC), EINVAL);

	/* metadata need not be durable without MAP_SYNC */
	must(file_map(buf, fd, MAP_SHARED) == buf);
	REFUSED_MR(ibv_reg_mr(db.pd, buf, FILE_BYTES, DEMAND | VT_NIC), EINVAL);
	must(file_map(buf, fd, MAP_PRIVATE) == buf);
	REFUSED_MR(ibv_reg_mr(db.pd, buf, FILE_BYTES, DEMAND | VT_NIC), EINVAL);
	munmap(buf, FILE_BYTES);
	close(fd);
	unlink(path);
}

/* Without being asked: what can be persistent is, and nothing else changes. */
static void automatic(void)
{
	char path[PATH_MAX];
	u8 *buf, *mem;
	int fd;

	fd = file_open(path, "automatic");
	must(fd >= 0 && !ftruncate(fd, FILE_BYTES));
	buf = file_map_sync(NULL, fd);
	mem = vt_map(FILE_BYTES);
	must(buf && mem);
	must(!cairndv_set_persistent(db.ctx, CAIRNDV_PERSISTENT_AUTO));

	ktap_eq(vt_domain(&db, buf, FILE_BYTES, DEMAND), CAIRNDV_DOMAIN_PMEM);
	/* no right to write */
	ktap_eq(vt_domain(&db, buf, FILE_BYTES, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND), 0);
	ktap_eq(vt_domain(&db, mem, FILE_BYTES, DEMAND), 0);
	ktap_eq(vt_domain(&db, NULL, SIZE_MAX, DEMAND), 0);
	REFUSED_MR(ibv_reg_mr(db.pd, buf, FILE_BYTES, VT_REMOTE), EOPNOTSUPP);
	must(file_map(buf, fd, MAP_SHARED) == buf);
	ktap_eq(vt_domain(&db, buf, FILE_BYTES, DEMAND), 0);

	must(!cairndv_set_persistent(db.ctx, CAIRNDV_PERSISTENT_DECLARED));
	must(file_map_sync(buf, fd) == buf);
	ktap_eq(vt_domain(&db, buf, FILE_BYTES, DEMAND), 0);
	munmap(buf, FILE_BYTES);
	munmap(mem, FILE_BYTES);
	close(fd);
	unlink(path);
}

/* --- data ------------------------------------------------------------------- */

static const struct {
	size_t at;
	u32 len;
} writes[] = {
	{ 0, 1 }, { PAGE - 1, 2 }, { 3 * PAGE, 5000 }, { 20 * PAGE + 77, 9 * PAGE },
	{ FILE_BYTES - 3, 3 },
};

static void writing(void)
{
	struct cairndv_persist_info info;
	struct pair pair;
	size_t i;

	pair_create(&pair);
	for (i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
		ktap_eq(pair_do(&pair, CAIRNDV_WR_WRITE_PERSIST, writes[i].at, writes[i].len,
				&info), IBV_WC_SUCCESS);
		ktap_eq(info.kind, CAIRNDV_PERSIST_WRITE);
		ktap_eq(info.durability, CAIRNDV_DURABILITY_ADR);
		ktap_ok(file_has(&pair, writes[i].at, writes[i].len));
	}
	/* plain WRITEs are made durable, too */
	ktap_eq(pair_do(&pair, IBV_WR_RDMA_WRITE, 40 * PAGE, 3 * PAGE, NULL), IBV_WC_SUCCESS);
	ktap_ok(file_has(&pair, 40 * PAGE, 3 * PAGE));
	pair_destroy(&pair);
}

/* A hole that is read is not written. */
static void holes(void)
{
	struct pair pair;
	size_t i;

	pair_create(&pair);
	ktap_eq(pair_do(&pair, IBV_WR_RDMA_READ, 0, FILE_BYTES, NULL), IBV_WC_SUCCESS);
	for (i = 0; i < FILE_BYTES && !pair.a.buf[i]; i++)
		;
	ktap_eq(i, FILE_BYTES);
	vt_fill(pair.a.buf, FILE_BYTES, 8);
	ktap_eq(pair_write(&pair, 0, FILE_BYTES), IBV_WC_SUCCESS);
	ktap_ok(file_has(&pair, 0, FILE_BYTES));
	pair_destroy(&pair);
}

/* FLUSH behind WRITEs, over pages that are present and over others. */
static void flushing(void)
{
	struct vt_opts opts = VT_OPTS;
	struct pair pair;
	struct ibv_qp_ex *qpx;
	struct ibv_wc wc;

	pair_create(&pair);
	vt_end_destroy(&pair.a);
	vt_end_destroy(&pair.b);
	ibv_dereg_mr(pair.mr);
	pair.mr = ibv_reg_mr(db.pd, pair.buf, FILE_BYTES, DEMAND | VT_NIC | VT_FLUSH);
	must(pair.mr);
	must(!vt_end_create_ex(&pair.a, &da, &opts, FILE_BYTES, IBV_QP_EX_WITH_RDMA_WRITE));
	must(!vt_end_create(&pair.b, &db, &opts, PAGE));
	/* of the queue pair, not of its buffer */
	pair.b.o.access |= CAIRNDV_ACCESS_FLUSH_PERSISTENT;
	must(!vt_connect(&pair.a, &pair.b));
	vt_fill(pair.a.buf, FILE_BYTES, 9);
	ktap_eq(pair_do(&pair, IBV_WR_RDMA_WRITE, 5 * PAGE, 2 * PAGE, NULL), IBV_WC_SUCCESS);
	qpx = ibv_qp_to_qp_ex(pair.a.qp);
	ibv_wr_start(qpx);
	qpx->wr_id = 3;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	cairndv_wr_flush(qpx, pair.mr->rkey, (uintptr_t)pair.buf, FILE_BYTES,
			 CAIRNDV_FLUSH_PERSISTENT, CAIRNDV_FLUSH_RANGE);
	must(!ibv_wr_complete(qpx));
	must(!vt_poll(pair.a.scq, &wc, 1, LONG_MS));
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	ktap_ok(file_has(&pair, 5 * PAGE, 2 * PAGE));
	pair_destroy(&pair);
}

/* --- the file changes ------------------------------------------------------- */

/* Gives blocks back to the file system, and takes some for another file. */
struct mover {
	struct pair *pair;
	int other;
	atomic_bool ends;
	unsigned int rounds;
	bool wrong;		/* the other file changed */
};

static bool other_is_whole(int fd)
{
	static u8 bytes[FILE_BYTES];
	size_t i;

	if (pread(fd, bytes, FILE_BYTES, 0) != FILE_BYTES)
		return false;
	for (i = 0; i < FILE_BYTES; i++)
		if (bytes[i] != 0xee)
			return false;
	return true;
}

/* The other file takes the blocks that the region's file gave back. */
static bool mover_round(struct mover *mover)
{
	static u8 bytes[FILE_BYTES];

	memset(bytes, 0xee, sizeof(bytes));
	return !fallocate(mover->pair->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			  FILE_BYTES) &&
	       !ftruncate(mover->other, 0) &&
	       pwrite(mover->other, bytes, FILE_BYTES, 0) == FILE_BYTES &&
	       !fsync(mover->other) && other_is_whole(mover->other);
}

static void *mover_run(void *arg)
{
	struct mover *mover = arg;

	while (!atomic_load(&mover->ends)) {
		if (!mover_round(mover))
			mover->wrong = true;
		mover->rounds++;
	}
	return NULL;
}

/* Blocks go while a peer writes to them: nothing of it is found in another file. */
static void punching(void)
{
	struct mover mover = {};
	char path[PATH_MAX];
	struct pair pair;
	pthread_t thread;
	int i;

	pair_create(&pair);
	mover.pair = &pair;
	mover.other = file_open(path, "other");
	must(mover.other >= 0);
	must(!pthread_create(&thread, NULL, mover_run, &mover));
	for (i = 0; i < ROUNDS; i++) {
		ktap_eq(pair_write(&pair, 0, FILE_BYTES), IBV_WC_SUCCESS);
		ktap_eq(pair_write(&pair, (size_t)i * PAGE + 9, 3000), IBV_WC_SUCCESS);
	}
	atomic_store(&mover.ends, true);
	pthread_join(thread, NULL);
	ktap_ok(mover.rounds > 0);
	ktap_ok(!mover.wrong);
	ktap_ok(other_is_whole(mover.other));
	ktap_diag("%u rounds", mover.rounds);
	/* what is acknowledged after the last hole is in the file */
	ktap_eq(pair_write(&pair, 0, FILE_BYTES), IBV_WC_SUCCESS);
	ktap_ok(file_has(&pair, 0, FILE_BYTES));
	ktap_ok(other_is_whole(mover.other));
	close(mover.other);
	unlink(path);
	pair_destroy(&pair);
}

/* A file that is cut off: an error, and nothing is acknowledged. */
static void truncating(void)
{
	struct pair pair;

	pair_create(&pair);
	ktap_eq(pair_write(&pair, 0, FILE_BYTES), IBV_WC_SUCCESS);
	must(!ftruncate(pair.fd, 8 * PAGE));
	ktap_eq(pair_write(&pair, 7 * PAGE, PAGE), IBV_WC_SUCCESS);
	ktap_eq(pair_write(&pair, 7 * PAGE, 2 * PAGE), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(lseek(pair.fd, 0, SEEK_END), 8 * PAGE);
	pair_destroy(&pair);
}

/* A clone shares the blocks until one of the two is written. */
static void cloning(void)
{
	char path[PATH_MAX];
	struct pair pair;
	int clone;

	pair_create(&pair);
	ktap_eq(pair_write(&pair, 0, FILE_BYTES), IBV_WC_SUCCESS);
	clone = file_open(path, "clone");
	must(clone >= 0);
	if (ioctl(clone, FICLONE, pair.fd)) {
		ktap_skip("no clones on this file system");
		goto out;
	}
	vt_fill(pair.a.buf, FILE_BYTES, 11);
	ktap_eq(pair_write(&pair, 2 * PAGE, 30 * PAGE), IBV_WC_SUCCESS);
	ktap_ok(file_has(&pair, 2 * PAGE, 30 * PAGE));
	vt_fill(pair.a.buf, FILE_BYTES, 7);
	close(pair.fd);
	pair.fd = clone;
	ktap_ok(file_has(&pair, 0, FILE_BYTES));
out:
	if (pair.fd != clone)
		close(clone);
	unlink(path);
	pair_destroy(&pair);
}

/* Other memory at the address: the peer must not take it for durable. */
static void replacing(void)
{
	static const struct {
		int flags;
		enum ibv_wc_status status;
	} ways[] = {
		{ MAP_SHARED_VALIDATE | MAP_SYNC, IBV_WC_SUCCESS },
		{ MAP_SHARED, IBV_WC_REM_ACCESS_ERR },
		{ MAP_PRIVATE, IBV_WC_REM_ACCESS_ERR },
		{ MAP_PRIVATE | MAP_ANONYMOUS, IBV_WC_REM_ACCESS_ERR },
	};
	struct pair pair;
	size_t i;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		pair_create(&pair);
		ktap_eq(pair_write(&pair, 0, FILE_BYTES), IBV_WC_SUCCESS);
		must(file_map(pair.buf, ways[i].flags & MAP_ANONYMOUS ? -1 : pair.fd,
			      ways[i].flags) == pair.buf);
		if (!ktap_eq(pair_write(&pair, PAGE, PAGE), ways[i].status))
			ktap_diag("way %zu", i);
		pair_destroy(&pair);
	}
}

/* CAIRN_ACKED names a file in another file system: was the last write acknowledged? */
static void note_acked(bool acked)
{
	const char *path = getenv("CAIRN_ACKED");
	FILE *file = path ? fopen(path, "w") : NULL;

	must(file);
	fprintf(file, "%d\n", acked);
	must(!fclose(file));
}

static bool was_acked(void)
{
	const char *path = getenv("CAIRN_ACKED");
	FILE *file = path ? fopen(path, "r") : NULL;
	int acked = -1;

	must(file && fscanf(file, "%d", &acked) == 1);
	fclose(file);
	return acked == 1;
}

/* The file system is shut down while a peer writes, as by a forced unmount. A page that is
 * there may be written, and a hole gets no block any more: an error. The file stays.
 */
static void shutting_down(void)
{
	__u32 how = SHUTDOWN_NO_LOG;
	struct pair pair;
	enum ibv_wc_status status;

	pair_create(&pair);
	ktap_eq(pair_write(&pair, 0, SHUT_PAGES * PAGE), IBV_WC_SUCCESS);
	if (ioctl(pair.fd, SHUTDOWN, &how)) {
		ktap_skip("this file system cannot be shut down");
		pair_destroy(&pair);
		return;
	}
	vt_fill(pair.a.buf, FILE_BYTES, 13);
	status = pair_write(&pair, SHUT_AGAIN, PAGE);
	note_acked(status == IBV_WC_SUCCESS);
	ktap_diag("a page that is there: status %d", status);
	if (status == IBV_WC_SUCCESS)
		ktap_eq(pair_write(&pair, SHUT_HOLE, PAGE), IBV_WC_REM_ACCESS_ERR);
	else
		ktap_eq(status, IBV_WC_REM_ACCESS_ERR);
	pair_destroy(&pair);
}

/* Mounted again: what was acknowledged is in the file. */
static int files_remounted(void)
{
	static u8 before[FILE_BYTES], after[FILE_BYTES], got[FILE_BYTES];
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/region", getenv("CAIRN_FILES"));
	fd = open(path, O_RDONLY);
	if (fd < 0 || pread(fd, got, FILE_BYTES, 0) != FILE_BYTES)
		return 1;
	close(fd);
	unlink(path);
	vt_fill(before, FILE_BYTES, 7);
	vt_fill(after, FILE_BYTES, 13);
	if (was_acked() && memcmp(got + SHUT_AGAIN, after + SHUT_AGAIN, PAGE) != 0)
		return 1;
	/* what was not acknowledged may be there, too */
	memcpy(before + SHUT_AGAIN, got + SHUT_AGAIN, PAGE);
	return memcmp(got, before, SHUT_PAGES * PAGE) != 0;
}

#define TESTS(X)							\
	X(registration) X(automatic) X(writing) X(holes) X(flushing)	\
	X(punching) X(truncating) X(cloning) X(replacing) X(shutting_down)

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "remounted"))
		return files_remounted();
	return vt_run_on(&da, &db, VT_IPV4, argc > 1 ? argv[1] : NULL);
}
