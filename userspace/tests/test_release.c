// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Deregistration without waiting: the commands to the kernel, and its answers. */
#include <errno.h>

#include "cairndv.h"
#include "fake.h"
#include "ktap.h"

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static char memory[64];

static void open_pd(void)
{
	fake_reset();
	fake.next_ticket = CAIRN_RELEASE_SLOTS;
	ctx = fake_open();
	pd = fake_pd(ctx);
}

static void close_pd(void)
{
	ktap_eq(fake.ops.dealloc_pd(pd), 0);
	fake_close(ctx);
	ktap_eq(fake.maps, 0);
	ktap_eq(fake.objects, 0);
}

static struct ibv_mr *reg(uint32_t handle)
{
	struct ibv_mr *mr = fake.ops.reg_mr(pd, memory, sizeof(memory),
					    (uintptr_t)memory,
					    IBV_ACCESS_LOCAL_WRITE);

	mr->handle = handle;
	return mr;
}

/* Acts as the device when the memory is free. */
static void free_now(uint32_t ticket)
{
	uint32_t *word = &fake_release_words()[ticket % CAIRN_RELEASE_SLOTS];

	__atomic_store_n(word, ticket, __ATOMIC_RELEASE);
}

static void busy_until_the_word(void)
{
	uint32_t one, two;

	open_pd();
	ktap_eq(cairndv_query_release(ctx, CAIRN_RELEASE_SLOTS), EINVAL);
	ktap_eq(cairndv_dereg_mr_async(reg(0x4711), &one), 0);
	ktap_eq(fake.released_mr, 0x4711);
	ktap_eq(one, CAIRN_RELEASE_SLOTS);
	ktap_eq(cairndv_dereg_mr_async(reg(0x4712), &two), 0);
	ktap_eq(fake.released_mr, 0x4712);
	ktap_ok(one != two);
	ktap_eq(cairndv_query_release(ctx, one), EBUSY);
	ktap_eq(cairndv_query_release(ctx, two), EBUSY);
	/* in any order */
	free_now(two);
	ktap_eq(cairndv_query_release(ctx, one), EBUSY);
	ktap_eq(cairndv_query_release(ctx, two), 0);
	free_now(one);
	ktap_eq(cairndv_query_release(ctx, one), 0);
	ktap_eq(cairndv_query_release(ctx, two), 0);
	/* the words are mapped once */
	ktap_eq(fake.maps_made, 1);
	close_pd();
}

/* Tickets wrap around, and words are reused. */
static void later_tickets(void)
{
	uint32_t old, ticket;

	open_pd();
	fake.next_ticket = (uint32_t)-1;
	/* as the device left it */
	free_now((uint32_t)-1 - CAIRN_RELEASE_SLOTS);
	ktap_eq(cairndv_dereg_mr_async(reg(1), &old), 0);
	ktap_eq(old, (uint32_t)-1);
	ktap_eq(cairndv_query_release(ctx, old), EBUSY);
	free_now(old);
	ktap_eq(cairndv_query_release(ctx, old), 0);
	fake.next_ticket = old + CAIRN_RELEASE_SLOTS;
	ktap_eq(cairndv_dereg_mr_async(reg(2), &ticket), 0);
	ktap_eq(ticket, CAIRN_RELEASE_SLOTS - 1);
	ktap_eq(cairndv_query_release(ctx, ticket), EBUSY);
	ktap_eq(cairndv_query_release(ctx, old), 0);
	free_now(ticket);
	ktap_eq(cairndv_query_release(ctx, ticket), 0);
	ktap_eq(cairndv_query_release(ctx, old), 0);
	close_pd();
}

/* Another module may have another number of words. */
static void as_many_words_as_told(void)
{
	uint32_t ticket;

	open_pd();
	fake.release_slots = 2 * CAIRN_RELEASE_SLOTS;
	fake.next_ticket = 3 * CAIRN_RELEASE_SLOTS + 5;
	ktap_eq(cairndv_dereg_mr_async(reg(1), &ticket), 0);
	ktap_eq(cairndv_query_release(ctx, ticket), EBUSY);
	fake_release_words()[CAIRN_RELEASE_SLOTS + 5] = ticket;
	ktap_eq(cairndv_query_release(ctx, ticket), 0);
	close_pd();
	/* none: no ticket is valid */
	open_pd();
	fake.release_slots = 0;
	ktap_eq(cairndv_dereg_mr_async(reg(1), &ticket), 0);
	ktap_eq(cairndv_query_release(ctx, ticket), EINVAL);
	close_pd();
}

/* The device has no object for it that could end. */
static void null_region(void)
{
	struct ibv_mr *mr;
	uint32_t ticket = 77;

	open_pd();
	mr = fake.ops.alloc_null_mr(pd);
	fake.released_mr = 0x4711;
	ktap_eq(cairndv_dereg_mr_async(mr, &ticket), EINVAL);
	ktap_eq(fake.released_mr, 0x4711);
	ktap_eq(ticket, 77);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	close_pd();
}

/* An error: the region is as it was. */
static void errors(void)
{
	struct ibv_mr *mr;
	uint32_t ticket = 77;

	open_pd();
	mr = reg(1);
	fake.fail = "dereg_mr_async";
	fake.fail_err = EAGAIN;
	ktap_eq(cairndv_dereg_mr_async(mr, &ticket), EAGAIN);
	/* an older module does not know the method */
	fake.ioctl_errors[0] = EPROTONOSUPPORT;
	ktap_eq(cairndv_dereg_mr_async(mr, &ticket), EOPNOTSUPP);
	ktap_eq(ticket, 77);
	ktap_eq(cairndv_query_release(ctx, ticket), EINVAL);
	ktap_eq(fake.maps_made, 0);
	ktap_eq(mr->handle, 1);
	/* interrupted: the call is repeated */
	fake.ioctl_errors[0] = EINTR;
	ktap_eq(cairndv_dereg_mr_async(mr, &ticket), 0);
	ktap_eq(ticket, CAIRN_RELEASE_SLOTS);
	close_pd();
}

static void of_another_driver(void)
{
	static const struct verbs_device_ops other;
	struct verbs_device vdev = { .ops = &other };
	struct ibv_device *ours;
	struct ibv_mr *mr;
	uint32_t ticket;

	open_pd();
	mr = reg(1);
	ours = ctx->device;
	ctx->device = &vdev.device;
	ktap_eq(cairndv_dereg_mr_async(mr, &ticket), EOPNOTSUPP);
	ktap_eq(cairndv_query_release(ctx, 1), EOPNOTSUPP);
	ctx->device = ours;
	ktap_eq(cairndv_dereg_mr_async(mr, &ticket), 0);
	close_pd();
}

static const struct ktap_test tests[] = {
	KTAP(busy_until_the_word),
	KTAP(later_tickets),
	KTAP(as_many_words_as_told),
	KTAP(null_region),
	KTAP(errors),
	KTAP(of_another_driver),
};

KTAP_MAIN(tests)
