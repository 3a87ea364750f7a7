// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A shadow of the persistence domain, for tests on machines whose power cannot
 * be cut: an image of a piece of persistent memory as it would be after a power
 * failure. It is not part of the driver and does not depend on its state.
 *
 *   the kernel's write-back function	its lines are taken as they are now, for
 *					this CPU
 *   its non-temporal stores		the same of their words alone
 *   a fence, the instruction		this CPU's lines are in the image
 *   a full cache			a line that was written back before is in
 *					the image as it is now, or some words of it
 *   an acknowledgement leaves		it is noted; at the chosen one the power
 *	by the IP stack, or is handed	fails: the image does not change any more
 *	to a queue pair of this host
 *
 * The instruction is searched in the code of cairn_flush_fence(). A compiler barrier is
 * no fence.
 *
 * @defect makes the image what it would be with a driver that has one. A test
 * that cannot fail proves nothing.
 */
#include <linux/fs.h>
#include <linux/ip.h>
#include <linux/kprobes.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/udp.h>
#include <linux/vmalloc.h>
#include <net/ip.h>
#include <net/net_namespace.h>
#include "cairn_shadow.h"
#include "device/parcel.h"

#define LINE		64
#define WORD		8	/* durable as a whole */
#define WORDS		(LINE / WORD)
#define ROOM		16384	/* lines of a CPU between two fences */
#define RECENT		64	/* lines that may be evicted */
#define EVICT		8	/* a line for so many write-backs */
#define CODE		32	/* bytes of cairn_flush_fence() */
#define ROCE_PORT	4791
#define BTH_RESPONSE	0x10	/* to a FLUSH, when there are no READs */
#define BTH_ACK		0x11
#define BTH_PERSIST_ACK	0xc8
#define PSN_MASK	0xffffff

static unsigned long base, size;
module_param(base, ulong, 0444);
MODULE_PARM_DESC(base, "physical address of the memory");
module_param(size, ulong, 0444);
MODULE_PARM_DESC(size, "its bytes, a multiple of the page size");

enum defect { NONE, NO_WRITEBACK, NO_LAST_LINE, NO_FIRST_LINE, NO_FENCE,
	      LATE_FENCE, NO_STREAM };

static unsigned int defect;
module_param(defect, uint, 0644);
MODULE_PARM_DESC(defect, "1 no write-back, 2 last line left out, 3 first line left out, 4 no fence, 5 fence after the acknowledgement, 6 no non-temporal stores");

struct line {
	u32 at;			/* in lines */
	u32 words;		/* bits: these are taken */
	u64 when;
	u8 bytes[LINE];
};

struct pending {
	u32 n, fenced;		/* lines in total, and before the last fence */
	struct line *line;
};

static DEFINE_PER_CPU(struct pending, pending);
static DEFINE_SPINLOCK(lock);	/* protects the following; irqsave */
static u8 *image;
static u64 *newest;		/* when each of its words was taken */
static u32 recent[RECENT], recents;	/* in lines */
static u64 chance;		/* random numbers */
static u64 now;			/* counts lines */
static struct shadow_state state;
static u32 countdown;

/* Memory does not return to an older state: a line may have been taken on two CPUs,
 * and the older copy fenced last.
 */
static void make_durable(u32 at, const u8 *bytes, u64 when, u32 words)
{
	u32 i;

	for (i = 0; i < WORDS && !state.failed; i++) {
		u64 *word = &newest[(size_t)at * WORDS + i];

		if (!(words & BIT(i)) || *word > when)
			continue;
		*word = when;
		memcpy(image + (size_t)at * LINE + i * WORD, bytes + i * WORD,
		       WORD);
	}
}

static u32 shadow_below(u32 n)
{
	chance = chance * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(chance >> 33) % n;
}

/* Caches are small, and a line goes to memory in pieces. Lines that no message
 * touches are not evicted: the test compares them, too.
 */
static void shadow_evict(void)
{
	u32 at, words = GENMASK(WORDS - 1, 0);

	if (!recents || shadow_below(EVICT))
		return;
	at = recent[shadow_below(min_t(u32, recents, RECENT))];
	if (shadow_below(2))
		words = shadow_below(words);
	make_durable(at, (u8 *)__va(base) + (size_t)at * LINE, ++now, words);
	state.evictions++;
}

/* Take @len bytes of a line as they are now: whole words. */
static void add_part(unsigned long va, u32 len)
{
	struct pending *mine = this_cpu_ptr(&pending);
	unsigned long off = __pa(va) - base;
	u32 first = va % LINE / WORD;
	struct line *line;

	if (__pa(va) < base || off >= size)
		return;
	recent[recents++ % RECENT] = off / LINE;
	if (mine->n == ROOM) {
		state.missed++;
		return;
	}
	line = &mine->line[mine->n++];
	line->at = off / LINE;
	line->words = GENMASK(first + len / WORD - 1, first);
	line->when = ++now;
	memcpy(line->bytes + first * WORD, (u8 *)va, len);
	state.lines++;
}

static void written_back(unsigned long va, unsigned long len)
{
	unsigned long end = ALIGN(va + len, LINE), flags;

	va &= -LINE;
	if (defect == NO_WRITEBACK)
		return;
	if (defect == NO_LAST_LINE)
		end -= LINE;
	if (defect == NO_FIRST_LINE)
		va += LINE;
	spin_lock_irqsave(&lock, flags);
	shadow_evict();
	for (; va < end; va += LINE)
		add_part(va, LINE);
	spin_unlock_irqrestore(&lock, flags);
}

/* void arch_wb_cache_pmem(void *addr, size_t size) */
static int on_writeback(struct kprobe *kp, struct pt_regs *regs)
{
	written_back(regs_get_kernel_argument(regs, 0),
		     regs_get_kernel_argument(regs, 1));
	return 0;
}

static struct kprobe writeback = {
	.symbol_name = "arch_wb_cache_pmem",
	.pre_handler = on_writeback,
};

struct streamed {
	unsigned long va, len;
};

/* void __memcpy_flushcache(void *to, const void *from, size_t size) */
static int on_stream(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct streamed *streamed = (void *)instance->data;

	streamed->va = regs_get_kernel_argument(regs, 0);
	streamed->len = regs_get_kernel_argument(regs, 2);
	return 0;
}

static int on_streamed(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	const struct streamed *streamed = (void *)instance->data;
	unsigned long va = streamed->va, end = va + streamed->len, flags;
	u32 len;

	spin_lock_irqsave(&lock, flags);
	for (; va < end && defect != NO_STREAM; va += len) {
		len = min(end - va, LINE - va % LINE);
		add_part(va, len);
	}
	state.streamed += streamed->len;
	spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static struct kretprobe stream = {
	.kp.symbol_name = "__memcpy_flushcache",
	.entry_handler = on_stream,
	.handler = on_streamed,
	.data_size = sizeof(struct streamed),
	.maxactive = 64,
};

static void on_fenced(struct kprobe *kp, struct pt_regs *regs,
		      unsigned long kflags)
{
	struct pending *mine;
	struct line *line;
	unsigned long flags;
	u32 i, n;

	if (defect == NO_FENCE)
		return;
	spin_lock_irqsave(&lock, flags);
	mine = this_cpu_ptr(&pending);
	n = defect == LATE_FENCE ? mine->fenced : mine->n;
	for (i = 0; i < n; i++) {
		line = &mine->line[i];
		make_durable(line->at, line->bytes, line->when, line->words);
	}
	memmove(mine->line, mine->line + n,
		(mine->n - n) * sizeof(*mine->line));
	mine->n -= n;
	mine->fenced = mine->n;
	state.fences++;
	spin_unlock_irqrestore(&lock, flags);
}

static struct kprobe fence = {
	.post_handler = on_fenced,
};

/* x86: SFENCE, or MFENCE. No other bytes of this short function look like these. */
static bool is_fence(const u8 *code)
{
	return code[0] == 0x0f && code[1] == 0xae &&
	       (code[2] == 0xf8 || code[2] == 0xf0);
}

static int probe_fence(void)
{
	struct kprobe function = { .symbol_name = "cairn_flush_fence" };
	const u8 *code;
	int i, err;

	err = register_kprobe(&function);
	if (err)
		return err;
	code = (const u8 *)function.addr;
	unregister_kprobe(&function);
	for (i = 0; i < CODE; i++) {
		if (!is_fence(code + i))
			continue;
		fence.addr = (kprobe_opcode_t *)(code + i);
		return register_kprobe(&fence);
	}
	pr_info("cairn_shadow: there is no fence in cairn_flush_fence()\n");
	return 0;
}

static void unprobe_fence(void)
{
	if (fence.addr)
		unregister_kprobe(&fence);
}

/* The caller holds lock. NULL: too many. */
static struct shadow_qp *find_qp(u32 qpn)
{
	struct shadow_qp *qp;

	for (qp = state.qp; qp < state.qp + SHADOW_QPS; qp++)
		if (!qp->qpn || qp->qpn == qpn) {
			qp->qpn = qpn;
			return qp;
		}
	return NULL;
}

static void shadow_note(u32 *has, u32 *highest, u32 psn)
{
	if (*has && ((psn - *highest) & PSN_MASK) > PSN_MASK / 2)
		return;
	*has = 1;
	*highest = psn;
}

static void shadow_acknowledged(u8 opcode, u32 qpn, u32 psn)
{
	struct shadow_qp *qp;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	qp = state.failed ? NULL : find_qp(qpn);
	if (qp && opcode == BTH_ACK)
		shadow_note(&qp->has_ack, &qp->ack, psn);
	else if (qp)
		shadow_note(&qp->has_persist, &qp->persist, psn);
	if (countdown && !--countdown)
		state.failed = 1;
	spin_unlock_irqrestore(&lock, flags);
}

/* Is it a BTH with an AETH behind it? */
static void shadow_look(struct sk_buff *skb, unsigned int off)
{
	struct udphdr buf, *udp;
	u8 room[16], *bth;

	udp = skb_header_pointer(skb, off, sizeof(buf), &buf);
	if (!udp || udp->dest != htons(ROCE_PORT))
		return;
	bth = skb_header_pointer(skb, off + sizeof(*udp), sizeof(room), room);
	/* syndromes of three zero bits acknowledge */
	if (bth && (bth[0] == BTH_ACK || bth[0] == BTH_PERSIST_ACK ||
		    bth[0] == BTH_RESPONSE) &&
	    !(bth[12] & 0xe0))
		shadow_acknowledged(bth[0], bth[5] << 16 | bth[6] << 8 | bth[7],
				    bth[9] << 16 | bth[10] << 8 | bth[11]);
}

/* Called before the receiver gets the packet. */
static int on_handed(struct kprobe *kp, struct pt_regs *regs)
{
	const struct cairn_parcel *parcel =
		(void *)regs_get_kernel_argument(regs, 1);
	const struct cairn_pkt *pkt = &parcel->train->first;

	if ((pkt->opcode == BTH_ACK || pkt->opcode == BTH_PERSIST_ACK ||
	     pkt->opcode == BTH_RESPONSE) && !(pkt->syndrome & 0xe0))
		shadow_acknowledged(pkt->opcode, pkt->qpn, pkt->psn);
	return 0;
}

static struct kprobe hand = {
	.symbol_name = "cairn_local_hand",
	.pre_handler = on_handed,
};

static unsigned int on_output(void *priv, struct sk_buff *skb,
			      const struct nf_hook_state *hook)
{
	if (ip_hdr(skb)->protocol == IPPROTO_UDP)
		shadow_look(skb, skb_network_offset(skb) + ip_hdrlen(skb));
	return NF_ACCEPT;
}

/* Sees each packet before any hook that can drop it. */
static const struct nf_hook_ops output = {
	.hook = on_output,
	.pf = NFPROTO_IPV4,
	.hooknum = NF_INET_LOCAL_OUT,
	.priority = NF_IP_PRI_FIRST,
};

static int __net_init net_begin(struct net *net)
{
	return nf_register_net_hook(net, &output);
}

static void __net_exit net_end(struct net *net)
{
	nf_unregister_net_hook(net, &output);
}

static struct pernet_operations nets = {
	.init = net_begin,
	.exit = net_end,
};

/* The caller makes sure that no message is in flight. */
static void shadow_arm(u32 nth)
{
	unsigned long flags;
	int cpu;

	spin_lock_irqsave(&lock, flags);
	for_each_possible_cpu(cpu) {
		per_cpu(pending, cpu).n = 0;
		per_cpu(pending, cpu).fenced = 0;
	}
	memset(&state, 0, sizeof(state));
	recents = 0;
	writeback.nmissed = 0;
	stream.nmissed = 0;
	fence.nmissed = 0;
	hand.nmissed = 0;
	memcpy(image, __va(base), size);
	countdown = nth;
	spin_unlock_irqrestore(&lock, flags);
}

static long shadow_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct shadow_state copy;
	unsigned long flags;

	switch (cmd) {
	case SHADOW_ARM:
		shadow_arm(arg);
		return 0;
	case SHADOW_FAIL:
		spin_lock_irqsave(&lock, flags);
		state.failed = 1;
		spin_unlock_irqrestore(&lock, flags);
		return 0;
	case SHADOW_STATE:
		spin_lock_irqsave(&lock, flags);
		copy = state;
		copy.missed += writeback.nmissed + stream.nmissed +
			       fence.nmissed + hand.nmissed;
		spin_unlock_irqrestore(&lock, flags);
		return copy_to_user((void __user *)arg, &copy, sizeof(copy)) ?
		       -EFAULT : 0;
	}
	return -ENOTTY;
}

static int shadow_mmap(struct file *file, struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_WRITE ? -EPERM :
	       remap_vmalloc_range(vma, image, vma->vm_pgoff);
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = shadow_ioctl,
	.mmap = shadow_mmap,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "cairn_shadow",
	.fops = &fops,
};

static void free_all(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		vfree(per_cpu(pending, cpu).line);
	vfree(newest);
	vfree(image);
}

static int __init shadow_init(void)
{
	int cpu, err = -ENOMEM;

	if (!size || !PAGE_ALIGNED(base | size) || !virt_addr_valid(__va(base)))
		return -EINVAL;
	image = vmalloc_user(size);
	newest = vzalloc(size / WORD * sizeof(*newest));
	for_each_possible_cpu(cpu) {
		per_cpu(pending, cpu).line = vmalloc(ROOM * sizeof(struct line));
		if (!per_cpu(pending, cpu).line)
			goto err_free;
	}
	if (!image || !newest)
		goto err_free;
	err = register_kprobe(&writeback);
	if (err)
		goto err_free;
	err = register_kretprobe(&stream);
	if (err)
		goto err_writeback;
	err = probe_fence();
	if (err)
		goto err_stream;
	err = register_kprobe(&hand);
	if (err)
		goto err_fence;
	err = register_pernet_subsys(&nets);
	if (err)
		goto err_hand;
	err = misc_register(&device);
	if (err)
		goto err_nets;
	return 0;

err_nets:
	unregister_pernet_subsys(&nets);
err_hand:
	unregister_kprobe(&hand);
err_fence:
	unprobe_fence();
err_stream:
	unregister_kretprobe(&stream);
err_writeback:
	unregister_kprobe(&writeback);
err_free:
	free_all();
	return err;
}

static void __exit shadow_exit(void)
{
	misc_deregister(&device);
	unregister_pernet_subsys(&nets);
	unregister_kprobe(&hand);
	unprobe_fence();
	unregister_kretprobe(&stream);
	unregister_kprobe(&writeback);
	free_all();
}

module_init(shadow_init);
module_exit(shadow_exit);
MODULE_DESCRIPTION("shadow of the persistence domain, for tests");
MODULE_LICENSE("Dual BSD/GPL");
