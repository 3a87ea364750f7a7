// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Makes memory look persistent or bad, while it is loaded or permanently:
 *
 *	ram=1		all System RAM lies on persistent memory, as that of
 *			dax/kmem does
 *	dax=PATH bad=N	a bad block at byte N of a device-DAX device whose memory
 *			begins at start=ADDRESS; permanent
 *	poison=1	copies that allow for memory errors get one at memory that
 *			begins with the bytes of media_poison
 *	zero=FUNCTION	that function of libnvdimm returns 0: is_nvdimm_sync() for a
 *			region that needs more than a write-back, nvdimm_has_cache()
 *			for one whose caches are persistent
 */
#include <linux/cdev.h>
#include <linux/fs.h>
#include <linux/ioport.h>
#include <linux/kprobes.h>
#include <linux/libnvdimm.h>
#include <linux/module.h>

#define MAX_COVERS	16

static bool ram;
module_param(ram, bool, 0);
static char *dax;
module_param(dax, charp, 0);
static unsigned long start;
module_param(start, ulong, 0);
static unsigned long bad;
module_param(bad, ulong, 0);

static bool poison;
module_param(poison, bool, 0);

static char *zero;
module_param(zero, charp, 0);

static const char media_poison[16] = "this is poisoned";

static struct resource covers[MAX_COVERS];
static int num_covers;

static void media_uncover(void)
{
	while (num_covers)
		remove_resource(&covers[--num_covers]);
}

static int media_cover_one(const struct resource *res)
{
	struct resource *cover = &covers[num_covers];

	*cover = (struct resource){
		.name = "Persistent Memory",
		.start = res->start,
		.end = res->end,
		.flags = IORESOURCE_MEM,
		.desc = IORES_DESC_PERSISTENT_MEMORY,
	};
	return insert_resource(&iomem_resource, cover);
}

/* The VM adds or removes no memory meanwhile. */
static int media_cover(void)
{
	struct resource *res, *next;
	int err;

	for (res = iomem_resource.child; res; res = next) {
		next = res->sibling;
		if (strcmp(res->name, "System RAM") || num_covers == MAX_COVERS)
			continue;
		err = media_cover_one(res);
		if (err) {
			media_uncover();
			return err;
		}
		num_covers++;
	}
	return num_covers ? 0 : -ENOENT;
}

static int media_spoil(void)
{
	struct file *file = filp_open(dax, O_RDONLY, 0);
	struct device *dev;
	int err = -ENODEV;

	if (IS_ERR(file))
		return PTR_ERR(file);
	dev = kobj_to_dev(file_inode(file)->i_cdev->kobj.parent);
	while (dev && !strstarts(dev_name(dev), "ndbus"))
		dev = dev->parent;
	if (dev)
		err = nvdimm_bus_add_badrange(to_nvdimm_bus(dev), start + bad,
					      512);
	filp_close(file, NULL);
	return err;
}

/* Replaces copy_mc_to_kernel(): no byte could be copied. */
static unsigned long media_copy_none(void *to, const void *from, unsigned int len)
{
	return len;
}

static int media_copy(struct kprobe *probe, struct pt_regs *regs)
{
	const void *from = (const void *)regs_get_kernel_argument(regs, 1);
	unsigned int len = regs_get_kernel_argument(regs, 2);

	if (len < sizeof(media_poison) ||
	    memcmp(from, media_poison, sizeof(media_poison)))
		return 0;
	instruction_pointer_set(regs, (unsigned long)media_copy_none);
	return 1;
}

/* A probe that changes the flow of control must not be optimised. */
static void media_copied(struct kprobe *probe, struct pt_regs *regs,
			 unsigned long flags)
{
}

static struct kprobe media_probe = {
	.symbol_name = "copy_mc_to_kernel",
	.pre_handler = media_copy,
	.post_handler = media_copied,
};

static unsigned long media_return_zero(void)
{
	return 0;
}

static int media_zero(struct kprobe *probe, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)media_return_zero);
	return 1;
}

static struct kprobe media_zero_probe = {
	.pre_handler = media_zero,
	.post_handler = media_copied,
};

static int __init media_init(void)
{
	if (dax)
		return media_spoil();
	if (poison)
		return register_kprobe(&media_probe);
	if (zero) {
		media_zero_probe.symbol_name = zero;
		return register_kprobe(&media_zero_probe);
	}
	return ram ? media_cover() : -EINVAL;
}

static void __exit media_exit(void)
{
	media_uncover();
	if (poison)
		unregister_kprobe(&media_probe);
	if (zero)
		unregister_kprobe(&media_zero_probe);
}

module_init(media_init);
module_exit(media_exit);
MODULE_DESCRIPTION("Memory that looks persistent, or is bad");
MODULE_LICENSE("Dual BSD/GPL");
