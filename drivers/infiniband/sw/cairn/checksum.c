// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Chooses the CRC-32 implementation for the ICRC: one of wire/, the kernel's crc32_le(),
 * or that of the crypto layer (PCLMUL on x86). The fastest over a typical payload is
 * used. The debugfs file cairn/icrc shows the choice and the measurements.
 */
#include <crypto/hash.h>
#include <linux/crc32.h>
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "checksum.h"
#include "wire/icrc.h"

/* Below this a call into the crypto layer costs more than it saves. */
#define CRYPTO_MIN	256

static struct crypto_shash *checksum_tfm;

static u32 checksum_kernel(u32 crc, const void *data, u32 len)
{
	return crc32_le(crc, data, len);
}

static const struct cairn_icrc_impl impl_kernel = {
	.name = "crc32_le",
	.update = checksum_kernel,
};

/* The hash state of "crc32" is the running CRC itself. */
static noinline u32 checksum_crypto_long(u32 crc, const void *data, u32 len)
{
	SHASH_DESC_ON_STACK(desc, checksum_tfm);

	desc->tfm = checksum_tfm;
	if (crypto_shash_import(desc, &crc) ||
	    crypto_shash_update(desc, data, len) ||
	    crypto_shash_export(desc, &crc))
		return cairn_icrc_portable.update(crc, data, len);
	return crc;
}

/* A separate function, because the kernel clears the descriptor at the start of the
 * function that has it.
 */
static u32 checksum_crypto(u32 crc, const void *data, u32 len)
{
	if (len < CRYPTO_MIN)
		return cairn_icrc_portable.update(crc, data, len);
	return checksum_crypto_long(crc, data, len);
}

static const struct cairn_icrc_impl impl_crypto = {
	.name = "crypto",
	.update = checksum_crypto,
};

/* Use the crypto layer's hash only if it agrees with the portable implementation. */
static bool checksum_crypto_usable(const u8 *buf)
{
	checksum_tfm = crypto_alloc_shash("crc32", 0, 0);
	if (IS_ERR(checksum_tfm)) {
		checksum_tfm = NULL;
		return false;
	}
	return crypto_shash_descsize(checksum_tfm) == sizeof(u32) &&
	       checksum_crypto(1, buf, SZ_1K) ==
	       cairn_icrc_portable.update(1, buf, SZ_1K);
}

/* The candidates, and nanoseconds for 4 KiB; 0: not available. */
static struct checksum_candidate {
	const struct cairn_icrc_impl *impl;
	u64 ns;
} checksum_candidates[] = {
	{ &cairn_icrc_folding },
	{ &cairn_icrc_portable },
	{ &impl_kernel },
	{ &impl_crypto },
};

static const struct cairn_icrc_impl *chosen;
static u64 copy_ns;
static struct dentry *debug_dir;

/* Show the choice and the nanoseconds of all candidates for 4 KiB, and for comparison
 * those of a plain copy, the minimum cost of a payload.
 */
static int checksum_icrc_show(struct seq_file *file, void *unused)
{
	unsigned int i;

	seq_printf(file, "%s; ns for 4 KiB:", chosen->name);
	for (i = 0; i < ARRAY_SIZE(checksum_candidates); i++)
		if (checksum_candidates[i].ns)
			seq_printf(file, " %s %llu",
				   checksum_candidates[i].impl->name,
				   checksum_candidates[i].ns);
	seq_printf(file, " copy %llu\n", copy_ns);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(checksum_icrc);

/* Pages per measurement, because a clock may tick in hundreds of nanoseconds. */
#define PAGES		64

/* The time for one page, ns: the best of a few measurements, as some may be preempted.
 * @impl NULL: a plain copy.
 */
static u64 checksum_measure(const struct cairn_icrc_impl *impl, u8 *buf)
{
	u64 best = U64_MAX;
	u32 crc = 0;
	int i, j;

	for (i = 0; i < 8; i++) {
		u64 took;

		took = ktime_get_ns();
		for (j = 0; j < PAGES; j++) {
			if (impl)
				crc = impl->update(crc, buf, SZ_4K);
			else
				memcpy(buf + SZ_4K, buf, SZ_4K);
			/* Keep the compiler from dropping the work. */
			barrier_data(&crc);
			barrier_data(buf);
		}
		took = ktime_get_ns() - took;
		best = min(best, took);
	}
	return max(div_u64(best, PAGES), 1ULL);
}

/* The fastest available candidate. */
static const struct cairn_icrc_impl *checksum_choose(void)
{
	const struct checksum_candidate *best = &checksum_candidates[0];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(checksum_candidates); i++) {
		const struct checksum_candidate *candidate =
			&checksum_candidates[i];

		if (candidate->ns && candidate->ns < best->ns)
			best = candidate;
	}
	return best->impl;
}

void cairn_checksum_init(void)
{
	unsigned int i;
	u8 *buf;

	cairn_icrc_select(NULL);
	chosen = &cairn_icrc_portable;
	debug_dir = debugfs_create_dir("cairn", NULL);
	debugfs_create_file("icrc", 0444, debug_dir, NULL,
			    &checksum_icrc_fops);
	buf = kzalloc(2 * SZ_4K, GFP_KERNEL);
	if (!buf)
		return;
	for (i = 0; i < ARRAY_SIZE(checksum_candidates); i++) {
		struct checksum_candidate *this = &checksum_candidates[i];

		if (this->impl != &impl_crypto || checksum_crypto_usable(buf))
			this->ns = checksum_measure(this->impl, buf);
	}
	copy_ns = checksum_measure(NULL, buf);
	chosen = checksum_choose();
	cairn_icrc_select(chosen);
	kfree(buf);
}

void cairn_checksum_exit(void)
{
	debugfs_remove(debug_dir);
	crypto_free_shash(checksum_tfm);
}
