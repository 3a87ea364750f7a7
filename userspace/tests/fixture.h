/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Begin and end of a test of the provider on the fake kernel: a context with a
 * protection domain. At the end no object may be left. For programs of one source
 * file, after all other headers.
 */
#ifndef CAIRN_TESTS_FIXTURE_H
#define CAIRN_TESTS_FIXTURE_H

static struct ibv_context *ctx;
static struct ibv_pd *pd;

static inline void open_ctx(void)
{
	fake_reset();
	ctx = fake_open();
	pd = fake_pd(ctx);
}

static inline void close_ctx(void)
{
	ktap_eq(fake.ops.dealloc_pd(pd), 0);
	fake_close(ctx);
	ktap_eq(fake.maps, 0);
	ktap_eq(fake.objects, 0);
	ktap_eq(fake.contexts, 0);
}

#endif
