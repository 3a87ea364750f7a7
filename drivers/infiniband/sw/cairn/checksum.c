// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which CRC-32 does the ICRC use: our portable one, the kernel's crc32_le() or
 * what the crypto layer offers (PCLMUL on x86). The fastest over a typical
 * payload wins.
 */
#include <crypto/hash.h>
#include <linux/crc32.h>
#include <linux/ktime.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include "checksum.h"
#include "wire/icrc.h"

/* Below this a call into the crypto layer costs more than it saves. */
#define CRYPTO_MIN	256

static struct crypto_shash *tfm;

static u32 update_kernel(u32 crc, const void *data, u32 len)
{
	return crc32_le(crc, data, len);
}

static const struct cairn_icrc_impl impl_kernel = {
	.name = "crc32_le",
	.update = update_kernel,
};

/* The hash state of "crc32" is the running CRC itself. */
static u32 update_crypto(u32 crc, const void *data, u32 len)
{
	SHASH_DESC_ON_STACK(desc, tfm);

	if (len < CRYPTO_MIN)
		return cairn_icrc_portable.update(crc, data, len);
	desc->tfm = tfm;
	if (crypto_shash_import(desc, &crc) ||
	    crypto_shash_update(desc, data, len) ||
	    crypto_shash_export(desc, &crc))
		return cairn_icrc_portable.update(crc, data, len);
	return crc;
}

static const struct cairn_icrc_impl impl_crypto = {
	.name = "crypto crc32",
	.update = update_crypto,
};

/* The hash must agree with ours before it is believed. */
static bool crypto_usable(const u8 *buf)
{
	tfm = crypto_alloc_shash("crc32", 0, 0);
	if (IS_ERR(tfm)) {
		tfm = NULL;
		return false;
	}
	return crypto_shash_descsize(tfm) == sizeof(u32) &&
	       update_crypto(1, buf, SZ_1K) ==
	       cairn_icrc_portable.update(1, buf, SZ_1K);
}

/* Best of a few runs, in nanoseconds for one page. */
static u64 measure(const struct cairn_icrc_impl *impl, const u8 *buf)
{
	u64 best = U64_MAX;
	u32 crc = 0;
	int i;

	for (i = 0; i < 16; i++) {
		u64 t;

		preempt_disable();
		t = ktime_get_ns();
		crc = impl->update(crc, buf, SZ_4K);
		t = ktime_get_ns() - t;
		preempt_enable();
		best = min(best, t);
	}
	/* Keep the compiler from dropping the work. */
	barrier_data(&crc);
	return best;
}

void cairn_checksum_init(void)
{
	const struct cairn_icrc_impl *impls[] = {
		&cairn_icrc_portable, &impl_kernel, &impl_crypto,
	};
	const struct cairn_icrc_impl *best = impls[0];
	u64 best_ns = U64_MAX;
	unsigned int i;
	u8 *buf;

	buf = kzalloc(SZ_4K, GFP_KERNEL);
	if (!buf) {
		cairn_icrc_select(NULL);
		return;
	}
	cairn_icrc_select(NULL);
	for (i = 0; i < ARRAY_SIZE(impls); i++) {
		u64 ns;

		if (impls[i] == &impl_crypto && !crypto_usable(buf))
			continue;
		ns = measure(impls[i], buf);
		if (ns < best_ns) {
			best = impls[i];
			best_ns = ns;
		}
	}
	cairn_icrc_select(best);
	pr_info("cairn: ICRC by %s, %llu ns for 4 KiB\n", best->name, best_ns);
	kfree(buf);
}

void cairn_checksum_exit(void)
{
	crypto_free_shash(tfm);
}
