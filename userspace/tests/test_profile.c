// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* CAIRN_PROFILE: what a profile limits is reported and refused, the rest stays. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cairndv.h"
#include "cq.h"
#include "fake.h"
#include "ktap.h"
#include "profile.h"
#include "profile_choice.h"
#include "send.h"

#include "fixture_qp.h"

static char profile_path[64];

/* A profile with this text is the one of the devices that are opened from now on. */
static void use_profile(const char *text)
{
	FILE *file;

	snprintf(profile_path, sizeof(profile_path), "/tmp/cairn-profile.%d", getpid());
	file = fopen(profile_path, "w");
	fputs(text, file);
	fclose(file);
	setenv("CAIRN_PROFILE", profile_path, 1);
}

static void forget_profile(void)
{
	unlink(profile_path);
	unsetenv("CAIRN_PROFILE");
}

static void open_with(const char *text)
{
	use_profile(text);
	open_qp();
	forget_profile();
}

static bool queue_pair_fits(uint32_t send_wr, uint32_t recv_sge, uint32_t inline_data,
			    enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type,
		.cap = { send_wr, 1, 1, recv_sge, inline_data },
	};
	struct ibv_qp *made;

	errno = 0;
	made = fake.ops.create_qp(pd, &attr);
	return made && !fake.ops.destroy_qp(made);
}

static void sizes_of_queues(void)
{
	struct ibv_cq *made;

	use_profile("max_qp_wr 16\nmax_sge 2  # comment\n\n# comment\nmax_inline_data 8\nmax_cqe 32\n");
	open_ctx();
	forget_profile();
	cq = fake_cq(ctx, 16);
	ktap_ok(queue_pair_fits(16, 2, 8, IBV_QPT_RC));
	ktap_ok(!queue_pair_fits(17, 2, 8, IBV_QPT_RC) && errno == EINVAL);
	ktap_ok(!queue_pair_fits(16, 3, 8, IBV_QPT_RC) && errno == EINVAL);
	ktap_ok(!queue_pair_fits(16, 2, 9, IBV_QPT_RC) && errno == EINVAL);
	made = fake.ops.create_cq(ctx, 32, NULL, 0);
	ktap_ok(made);
	ktap_eq(fake.ops.resize_cq(made, 33), EINVAL);
	ktap_eq(fake.ops.destroy_cq(made), 0);
	ktap_ok(!fake.ops.create_cq(ctx, 33, NULL, 0) && errno == EINVAL);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	close_ctx();
}

/* The device gives more than was asked for, but not more than the profile has. */
static void sizes_that_are_given(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 20, 1, 3, 2, 0 } };
	struct ibv_srq_init_attr srq_attr = { .attr = { 20, 2, 0 } };
	struct ibv_sge sge[4] = {};
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 4, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr recv = { .sg_list = sge, .num_sge = 4 }, *bad_recv;
	struct ibv_qp_attr now = { .cap = { 32, 32, 6, 5, 0 } };
	struct ibv_srq *srq;

	use_profile("max_qp_wr 24\nmax_sge 3\nmax_srq_wr 24\nmax_srq_sge 3\n");
	open_ctx();
	forget_profile();
	cq = fake_cq(ctx, 16);
	fake.max_send_wr = 32;
	fake.more_sge = 3;
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = fake.ops.create_qp(pd, &attr);
	ktap_eq(attr.cap.max_send_wr, 24);
	ktap_eq(attr.cap.max_send_sge, 3);
	ktap_eq(attr.cap.max_recv_sge, 3);
	qp->state = IBV_QPS_RTS;
	ktap_eq(fake.ops.post_send(qp, &wr, &bad), EINVAL);
	ktap_eq(fake.ops.post_recv(qp, &recv, &bad_recv), EINVAL);
	wr.num_sge = 3;
	recv.num_sge = 3;
	ktap_eq(fake.ops.post_send(qp, &wr, &bad), 0);
	ktap_eq(fake.ops.post_recv(qp, &recv, &bad_recv), 0);
	attr.cap = now.cap;
	ktap_eq(fake.ops.query_qp(qp, &now, IBV_QP_CAP, &attr), 0);
	ktap_ok(now.cap.max_send_wr == 24 && now.cap.max_recv_wr == 24 &&
		now.cap.max_send_sge == 3 && now.cap.max_recv_sge == 3);
	ktap_ok(!memcmp(&attr.cap, &now.cap, sizeof(now.cap)));
	srq = fake.ops.create_srq(pd, &srq_attr);
	ktap_eq(srq_attr.attr.max_sge, 3);
	recv.num_sge = 4;
	ktap_eq(fake.ops.post_srq_recv(srq, &recv, &bad_recv), EINVAL);
	srq_attr.attr.max_wr = 32;
	srq_attr.attr.max_sge = 5;
	ktap_eq(fake.ops.query_srq(srq, &srq_attr.attr), 0);
	ktap_ok(srq_attr.attr.max_wr == 24 && srq_attr.attr.max_sge == 3);
	ktap_eq(fake.ops.destroy_srq(srq), 0);
	close_qp();
}

static void sizes_of_regions(void)
{
	static char memory[8192];
	struct ibv_mr *mr;

	open_with("max_mr_size 4096\n");
	ktap_ok(!fake.ops.reg_mr(pd, memory, 4097, 0, 0) && errno == EINVAL);
	mr = fake.ops.reg_mr(pd, memory, 4096, 0, 0);
	ktap_ok(mr);
	ktap_eq(fake.ops.rereg_mr((struct verbs_mr *)mr, IBV_REREG_MR_CHANGE_TRANSLATION, pd,
				  memory, 4097, 0), EINVAL);
	ktap_eq(fake.ops.rereg_mr((struct verbs_mr *)mr, IBV_REREG_MR_CHANGE_TRANSLATION, pd,
				  memory, 4096, 0), 0);
	ktap_eq(fake.ops.rereg_mr((struct verbs_mr *)mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 4097, 0),
		0);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	close_qp();
}

static void transports(void)
{
	struct ibv_xrcd_init_attr attr = {};
	struct ibv_xrcd *domain;

	open_with("transports rc,ud\n");
	ktap_ok(queue_pair_fits(1, 1, 0, IBV_QPT_UD));
	ktap_ok(!queue_pair_fits(1, 1, 0, IBV_QPT_UC) && errno == EOPNOTSUPP);
	ktap_ok(!fake.ops.open_xrcd(ctx, &attr) && errno == EOPNOTSUPP);
	close_qp();
	open_with("transports rc,uc,xrc\n");
	ktap_ok(queue_pair_fits(1, 1, 0, IBV_QPT_UC));
	ktap_ok(!queue_pair_fits(1, 1, 0, IBV_QPT_UD) && errno == EOPNOTSUPP);
	attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	attr.fd = -1;
	domain = fake.ops.open_xrcd(ctx, &attr);
	ktap_ok(domain);
	ktap_eq(fake.ops.close_xrcd(domain), 0);
	close_qp();
}

/* An object that is destroyed makes room, also one whose creation failed. */
static void numbers_of_objects(void)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { 1, 1, 0 } };
	struct ibv_pd *more;

	open_with("max_pd 2\nmax_qp 1\nmax_srq 0\n");
	more = fake.ops.alloc_pd(ctx);
	ktap_ok(more);
	errno = 0;
	ktap_ok(!fake.ops.alloc_pd(ctx) && errno == ENOMEM);
	ktap_eq(fake.ops.dealloc_pd(more), 0);
	more = fake.ops.alloc_pd(ctx);
	ktap_ok(more);
	ktap_eq(fake.ops.dealloc_pd(more), 0);
	ktap_ok(!queue_pair_fits(1, 1, 0, IBV_QPT_RC) && errno == ENOMEM);
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	/* one that the kernel refuses is not counted */
	fake.fail = "create_qp";
	fake.fail_err = EPERM;
	ktap_ok(!queue_pair_fits(1, 1, 0, IBV_QPT_RC));
	ktap_ok(queue_pair_fits(1, 1, 0, IBV_QPT_RC));
	ktap_ok(!fake.ops.create_srq(pd, &srq_attr) && errno == EOPNOTSUPP);
	qp = fake_qp(pd, cq, IBV_QPT_RC, 0);
	close_qp();
}

/* A process may open two devices, and each has the limits of its own profile. */
static void devices_have_profiles_of_their_own(void)
{
	struct ibv_context *second;
	struct ibv_pd *more;

	open_with("max_pd 1\nmax_cqe 32\n");
	use_profile("max_pd 1\nmax_cqe 64\n");
	second = fake_open_second();
	forget_profile();
	ktap_ok(!fake.ops.create_cq(ctx, 33, NULL, 0) && errno == EINVAL);
	more = fake.ops.alloc_pd(second);
	ktap_ok(more);
	ktap_ok(!fake.ops.alloc_pd(second) && errno == ENOMEM);
	ktap_eq(fake.ops.dealloc_pd(more), 0);
	ktap_ok(!fake.ops.alloc_pd(ctx) && errno == ENOMEM);
	fake_close(second);
	close_qp();
}

static uid_t choice_owner;

int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);

int __wrap_fstat(int fd, struct stat *st)
{
	int err = __real_fstat(fd, st);

	st->st_uid = choice_owner;
	return err;
}

static char choice[256];

/* A choice as cairn_set writes it for a device whose directory in sysfs is that of the choices. */
static void choose(const char *text)
{
	struct stat st = {};
	FILE *file;

	mkdir(CAIRN_PROFILE_CHOICES, 0755);
	stat(CAIRN_PROFILE_CHOICES, &st);
	snprintf(choice, sizeof(choice), CAIRN_PROFILE_CHOICES "/%ju", (uintmax_t)st.st_ino);
	unlink(choice);
	file = fopen(choice, "w");
	fprintf(file, "# profile small\n%s", text);
	fclose(file);
	chmod(choice, 0644);
	fake_reset();
	fake.sysfs = CAIRN_PROFILE_CHOICES;
}

/* The limit of CQEs that a process meets; -1: the device does not open. */
static int chosen_limit(void)
{
	struct ibv_cq *made;
	int limit = 1 << 12;

	ctx = fake_open();
	if (!ctx)
		return -1;
	while (!(made = fake.ops.create_cq(ctx, limit, NULL, 0)))
		limit /= 2;
	fake.ops.destroy_cq(made);
	fake_close(ctx);
	return limit;
}

static void devices_have_profiles_for_all(void)
{
	ktap_hush();
	choose("max_cqe 64\n");
	ktap_eq(chosen_limit(), 64);
	/* that of the process comes first, also if it is none */
	use_profile("max_cqe 128\n");
	ktap_eq(chosen_limit(), 128);
	setenv("CAIRN_PROFILE", "", 1);
	ktap_eq(chosen_limit(), 1 << 12);
	forget_profile();
	/* another device has another directory, whatever its name is */
	fake.sysfs = "/";
	ktap_eq(chosen_limit(), 1 << 12);
	fake.sysfs = NULL;
	ktap_eq(chosen_limit(), 1 << 12);
	choose("max_cqe 64\n");
	unlink(choice);
	ktap_eq(chosen_limit(), 1 << 12);
}

/* A file that others than root can write is no choice, and no device opens without limits for it. */
static void wrong_choices(void)
{
	ktap_hush();
	choose("max_cqe 64\n");
	choice_owner = 1000;
	ktap_ok(chosen_limit() == -1 && errno == EPERM);
	choice_owner = 0;
	chmod(choice, 0664);
	ktap_ok(chosen_limit() == -1 && errno == EPERM);
	chmod(choice, 0646);
	ktap_ok(chosen_limit() == -1 && errno == EPERM);
	choose("nonsense\n");
	ktap_ok(chosen_limit() == -1 && errno == EINVAL);
	truncate(choice, 0);
	ktap_ok(chosen_limit() == -1 && errno == EINVAL);
	unlink(choice);
	ktap_eq(symlink("/dev/null", choice), 0);
	ktap_ok(chosen_limit() == -1 && errno == ELOOP);
	unlink(choice);
	ktap_eq(mkfifo(choice, 0644), 0);
	ktap_ok(chosen_limit() == -1 && errno == EPERM);
	unlink(choice);
	ktap_eq(chosen_limit(), 1 << 12);
	ktap_eq(fake.contexts, 0);
}

static void atomics(void)
{
	struct ibv_send_wr write = { .wr_id = 1, .opcode = IBV_WR_SEND }, *bad = NULL;
	struct ibv_send_wr atomic = { .wr_id = 2, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };

	open_with("atomics none\n");
	write.next = &atomic;
	ktap_eq(fake.ops.post_send(qp, &write, &bad), EINVAL);
	ktap_ok(bad == &atomic && write.next == &atomic);
	/* the one before it was posted */
	ktap_eq(fake_send_wqe(qp, 0)->wr_id, 1);
	ktap_eq(fake.ops.post_send(qp, &atomic, &bad), EINVAL);
	write.next = NULL;
	ktap_eq(fake.ops.post_send(qp, &write, &bad), 0);
	close_qp();
}

/* A list without an end stops at a full queue, and no list is changed on the way. */
static void lists_without_an_end(void)
{
	struct ibv_send_wr first = { .wr_id = 1, .opcode = IBV_WR_SEND }, *bad = NULL;
	struct ibv_send_wr second = { .wr_id = 2, .opcode = IBV_WR_RDMA_WRITE, .next = &first };

	first.next = &second;
	open_with("atomics none\n");
	ktap_eq(fake.ops.post_send(qp, &first, &bad), ENOMEM);
	ktap_ok(bad == (to_cqp(qp)->sq.max_wr % 2 ? &second : &first));
	ktap_eq(to_cqp(qp)->sq.posted, to_cqp(qp)->sq.max_wr);
	ktap_ok(first.next == &second && second.next == &first);
	second.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;	/* behind the first that does not fit */
	second.next = NULL;
	ktap_eq(fake.ops.post_send(qp, &first, &bad), ENOMEM);
	ktap_ok(bad == &first);
	close_qp();
}

static void attributes_of_queue_pairs(void)
{
	struct ibv_qp_attr attr = {
		.max_rd_atomic = 2, .max_dest_rd_atomic = 3, .path_mtu = IBV_MTU_2048,
	};

	open_with("max_qp_wr 64\nmax_qp_init_rd_atom 2\nmax_qp_rd_atom 3\nmax_mtu 2048\n");
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC), 0);
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_MAX_DEST_RD_ATOMIC), 0);
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_PATH_MTU), 0);
	attr = (struct ibv_qp_attr){
		.cap = { .max_send_wr = 65 }, .max_rd_atomic = 3, .max_dest_rd_atomic = 4, .path_mtu = IBV_MTU_4096,
	};
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC), EINVAL);
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_MAX_DEST_RD_ATOMIC), EINVAL);
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_PATH_MTU), EINVAL);
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_CAP), EINVAL);
	/* the program learns what it gets */
	attr.cap.max_send_wr = to_cqp(qp)->sq.max_wr - 1;
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_CAP), 0);
	ktap_eq(attr.cap.max_send_wr, to_cqp(qp)->sq.max_wr);
	ktap_eq(attr.cap.max_send_sge, to_cqp(qp)->max_send_sge);
	close_qp();
}

static bool rate_is(int err, int limit)
{
	return !err && (int)fake.rate_limit == limit;
}

static void rates(void)
{
	struct ibv_qp_attr start = { .qp_state = IBV_QPS_RTS }, own = { .rate_limit = 100 };
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = 100 };
	struct ibv_device_attr_ex attr = {};

	open_with("qp_bandwidth 2mbit\n");
	ktap_eq(fake.ops.query_device_ex(ctx, NULL, &attr, sizeof(attr)), 0);
	ktap_eq(attr.packet_pacing_caps.qp_rate_limit_max, 2000);
	qp->state = IBV_QPS_RTR;
	ktap_ok(rate_is(fake.ops.modify_qp(qp, &start, IBV_QP_STATE), 2000));
	ktap_ok(fake.modify_mask & IBV_QP_RATE_LIMIT);
	ktap_ok(rate_is(fake.ops.modify_qp(qp, &own, IBV_QP_STATE | IBV_QP_RATE_LIMIT), 100));
	own.rate_limit = 2001;
	ktap_ok(rate_is(fake.ops.modify_qp(qp, &own, IBV_QP_RATE_LIMIT), 2000));
	qp->state = IBV_QPS_SQD;
	ktap_eq(fake.ops.modify_qp(qp, &start, IBV_QP_STATE), 0);
	ktap_ok(!(fake.modify_mask & IBV_QP_RATE_LIMIT));
	ktap_ok(rate_is(fake.ops.modify_qp_rate_limit(qp, &limit), 100));
	limit.rate_limit = 0;
	ktap_ok(rate_is(fake.ops.modify_qp_rate_limit(qp, &limit), 2000));
	ktap_eq(limit.rate_limit, 0);
	close_qp();
	open_with("max_qp 64\n");
	qp->state = IBV_QPS_RTR;
	ktap_eq(fake.ops.modify_qp(qp, &start, IBV_QP_STATE), 0);
	ktap_ok(!(fake.modify_mask & IBV_QP_RATE_LIMIT));
	ktap_ok(rate_is(fake.ops.modify_qp_rate_limit(qp, &limit), 0));
	close_qp();
}

static bool text_is(struct cairn_profile *profile, const char *text)
{
	FILE *file = fmemopen((void *)text, strlen(text), "r");
	int err = cairn_profile_file_read(profile, "text", file);

	fclose(file);
	return !err;
}

static void slow_motion(void)
{
	struct cairn_profile profile;

	ktap_ok(text_is(&profile, "latency 1ms\nack_delay 50\nloss 0.010\nmax_pkeys 1\n"));
	ktap_eq(profile.latency_us, 1000);
	ktap_eq(profile.ack_delay_us, 50);
	ktap_ok(!strcmp(profile.loss, "0.010"));
	ktap_ok(text_is(&profile, "latency 5s\nack_delay 5s\nloss 0.000000001\nqp_bandwidth 400gbit\n"));
	ktap_eq(profile.qp_kbps, 400000000);
	ktap_ok(text_is(&profile, "# nothing\n"));
	ktap_eq(profile.latency_us + profile.ack_delay_us + profile.qp_kbps, 0);
	ktap_ok(!*profile.loss);
}

static void regions(void)
{
	char bytes[4096];
	struct ibv_mr *mr;
	uint32_t ticket;

	open_with("max_mr 1\nmax_mr_size 4096\nodp none\n");
	ktap_ok(!fake.ops.reg_mr(pd, bytes, 4097, 0, 0) && errno == EINVAL);
	ktap_ok(!fake.ops.reg_mr(pd, bytes, 4096, 0, IBV_ACCESS_ON_DEMAND) &&
		errno == EOPNOTSUPP);
	mr = fake.ops.reg_mr(pd, bytes, 4096, (uintptr_t)bytes, 0);
	ktap_ok(mr);
	ktap_ok(!fake.ops.reg_mr(pd, bytes, 4096, (uintptr_t)bytes, 0) && errno == ENOMEM);
	if (mr)
		ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	/* as well without waiting */
	mr = fake.ops.reg_mr(pd, bytes, 4096, (uintptr_t)bytes, 0);
	ktap_eq(cairndv_dereg_mr_async(mr, &ticket), 0);
	mr = fake.ops.reg_mr(pd, bytes, 4096, (uintptr_t)bytes, 0);
	if (ktap_ok(mr))
		ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	close_qp();
}

static void wrong_profiles(void)
{
	static const char *const wrong[] = {
		"max_qp", "max_qp 1 2", "max_qp -1", "max_qp x", "max_qp 1x", "max_qp 0x80000000",
		"max_everything 1", "max_mtu 1000", "max_mtu 128", "max_mtu 8192", "max_inline_data -1", "transports",
		"transports rd", "atomics some", "odp yes", "max_pkeys 2", "max_pkeys 0",
		"qp_bandwidth 0kbit", "qp_bandwidth 100", "qp_bandwidth gbit", "qp_bandwidth 1kbits",
		"qp_bandwidth 401gbit", "latency 0", "latency 1m", "latency 6s", "ack_delay -1us",
		"loss 0", "loss 0.", "loss 0.00", "loss 1", "loss 1.5", "loss 0.1%", "loss 0.1e1",
		"loss 0.0000000001",
		"max_mr_size 99999999999999999999",
	};
	char longest[512];

	ktap_hush();
	fake_reset();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		use_profile(wrong[i]);
		errno = 0;
		if (!ktap_ok(!fake_open()))
			printf("# accepted: %s\n", wrong[i]);
		ktap_eq(errno, EINVAL);
	}
	memset(longest, ' ', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	use_profile(longest);
	ktap_ok(!fake_open() && errno == EINVAL);
	forget_profile();
	setenv("CAIRN_PROFILE", "no-such-profile", 1);
	ktap_ok(!fake_open() && errno == EINVAL);
	unsetenv("CAIRN_PROFILE");
	ktap_eq(fake.contexts, 0);
}

/* The installed profiles are right. */
static void profiles_of_nics(void)
{
	static const char *const names[] = {
		"connectx3", "connectx5", "e810", "fastlinq", "pvrdma", "slow", "small",
	};
	struct cairn_profile profile;
	char path[512];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", CAIRN_TESTS_PROFILES, names[i]);
		if (!ktap_eq(cairn_profile_file_load(&profile, path), 0))
			printf("# %s\n", path);
	}
}

static void unset_has_no_limits(void)
{
	open_qp();
	ktap_ok(!to_cctx(ctx)->profile);
	ktap_ok(fake.ops.post_send == cairn_post_send);
	ktap_ok(fake.ops.create_cq == cairn_create_cq);
	close_qp();
}

static const struct ktap_test tests[] = {
	KTAP(sizes_of_queues), KTAP(sizes_that_are_given), KTAP(sizes_of_regions), KTAP(transports), KTAP(numbers_of_objects),
	KTAP(devices_have_profiles_of_their_own), KTAP(atomics),
	KTAP(lists_without_an_end),
	KTAP(attributes_of_queue_pairs), KTAP(regions), KTAP(rates), KTAP(slow_motion), KTAP(wrong_profiles),
	KTAP(devices_have_profiles_for_all), KTAP(wrong_choices),
	KTAP(profiles_of_nics), KTAP(unset_has_no_limits),
};

KTAP_MAIN(tests)
