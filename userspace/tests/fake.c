// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#include "cq.h"
#include "fake.h"
#include "fake_methods.h"
#include "qp.h"

#define MEMORY		(64u << 20)
#define CHUNK_BASE	0x100000ull	/* two pages a chunk */
#define READY_BASE	0x200000ull	/* a page a lane */
#define WAKE_BASE	0x300000ull
#define RELEASE_BASE	0x380000ull
#define RING_BASE	0x400000ull

struct fake fake;

void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t offset);
int __real_munmap(void *addr, size_t len);
int __real_clock_gettime(clockid_t clock, struct timespec *now);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t offset);
int __wrap_munmap(void *addr, size_t len);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

bool fake_is_device(int fd)
{
	return fd == fake.fd || (fake.second_fd && fd == fake.second_fd);
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t offset)
{
	void *map = __real_mmap(addr, len, prot, flags, fd, offset);

	if (fake_is_device(fd))
		assert(flags == MAP_SHARED);
	if (map == MAP_FAILED)
		return map;
	fake.maps += fake_is_device(fd) || flags & MAP_ANONYMOUS;
	fake.maps_made += fake_is_device(fd);
	return map;
}

int __wrap_munmap(void *addr, size_t len)
{
	fake.maps--;
	return __real_munmap(addr, len);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	if (!fake.clock_ns)
		return __real_clock_gettime(clock, now);
	now->tv_sec = (time_t)(fake.clock_ns / 1000000000);
	now->tv_nsec = (long)(fake.clock_ns % 1000000000);
	return 0;
}

/* ---- memory ---- */

void fake_reset(void)
{
	const struct verbs_device_ops *dev_ops = fake.dev_ops;

	if (fake.memory) {
		__real_munmap(fake.memory, MEMORY);
		close(fake.fd);
		if (fake.second_fd)
			close(fake.second_fd);
	}
	memset(&fake, 0, sizeof(fake));
	fake.dev_ops = dev_ops;
	fake.abi_version = CAIRN_ABI_VERSION;
	fake.page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	fake.sq_depth = 64;
	fake.release_slots = CAIRN_RELEASE_SLOTS;
	fake.next_offset = RING_BASE;
	fake.fd = memfd_create("cairn", MFD_CLOEXEC);
	assert(fake.fd >= 0 && !ftruncate(fake.fd, MEMORY));
	fake.memory = __real_mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
				  MAP_SHARED, fake.fd, 0);
	assert(fake.memory != MAP_FAILED);
}

void *fake_unit(struct fake_ring *ring, uint32_t index)
{
	return ring->units + (size_t)(index & (ring->desc.depth - 1)) *
			     CAIRN_UNIT_SIZE;
}

static uint8_t *ring_place(struct cairn_ring_desc *desc, uint32_t depth)
{
	uint64_t page = fake.page_size;

	desc->depth = depth;
	desc->ring_bytes = (depth * CAIRN_UNIT_SIZE + page - 1) / page * page;
	desc->ring_offset = fake.next_offset;
	fake.next_offset += desc->ring_bytes;
	assert(fake.next_offset <= MEMORY);
	return fake.memory + desc->ring_offset;
}

/* Scattered lanes and bits. */
static void ready_place(struct fake_ring *ring)
{
	struct cairn_ring_desc *desc = &ring->desc;
	struct cairn_wake *wake = (void *)(fake.memory + WAKE_BASE);

	desc->wake_index = desc->qid % CAIRN_MAX_LANES;
	desc->wake_offset = WAKE_BASE;
	desc->ready_offset = READY_BASE + desc->wake_index * 0x1000ull;
	desc->ready_bit = desc->qid * 67 % CAIRN_READY_QUEUES;
	ring->ready = (void *)(fake.memory + desc->ready_offset);
	ring->asleep = &wake[desc->wake_index].asleep;
}

static void ring_create(struct cairn_ring_desc *answer, uint32_t depth,
			uint32_t stride)
{
	uint32_t qid = fake.next_qid++;
	struct fake_ring *ring = &fake.rings[qid];
	struct cairn_ring_desc *desc = &ring->desc;
	uint64_t chunk = CHUNK_BASE + qid / CAIRN_QINFO_PER_CHUNK * 0x2000ull;
	uint32_t entry = qid % CAIRN_QINFO_PER_CHUNK;

	assert(qid < FAKE_MAX_QUEUES);
	ring->units = ring_place(desc, depth);
	ring->next.depth = 0;
	desc->qid = qid;
	desc->stride = stride;
	desc->dev_offset = chunk;
	desc->host_offset = chunk + 0x1000;
	ring->dev = (void *)(fake.memory + desc->dev_offset);
	ring->host = (void *)(fake.memory + desc->host_offset);
	ring->dev += entry;
	ring->host += entry;
	memset(ring->dev, 0, sizeof(*ring->dev));
	memset(ring->host, 0, sizeof(*ring->host));
	ring->dev->index = fake.start_index;
	ring->dev->state = CAIRN_QUEUE_READY;
	ring->dev->depth = depth;
	if (!stride)
		ready_place(ring);
	fake.last_qid = qid;
	*answer = *desc;
	if (fake.edit)
		fake.edit(answer);
}

void fake_complete(struct fake_ring *cq, const struct cairn_cqe *cqe)
{
	uint32_t index = cq->dev->index;

	memcpy(fake_unit(cq, index), cqe, sizeof(*cqe));
	__atomic_store_n(&cq->dev->index, index + 1, __ATOMIC_RELEASE);
}

/* ---- another ring ---- */

static uint32_t pow2_at_least(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static int command(const char *name)
{
	int err = fake.fail_err;

	if (!fake.fail || strcmp(fake.fail, name))
		return 0;
	fake.fail = NULL;
	return err;
}

static struct fake_ring *owned_ring(const struct ib_uverbs_attr *owner,
				    uint32_t which)
{
	assert(owner->len == 0 && owner->data_s64 < FAKE_MAX_QUEUES);
	if (owner->attr_id == CAIRN_ATTR_RING_QP)
		return &fake.rings[owner->data_s64 + which];
	assert(!which && (owner->attr_id == CAIRN_ATTR_RING_SRQ ||
			  owner->attr_id == CAIRN_ATTR_RING_CQ));
	return &fake.rings[owner->data_s64];
}

static void forget_next(struct fake_ring *ring)
{
	fake.prepared -= ring->next.depth != 0;
	ring->next.depth = 0;
}

int fake_prepare(const struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *attr = hdr->attrs;
	struct cairn_prepare_ring_resp *resp;
	struct cairn_prepare_ring req;
	struct fake_ring *ring;
	uint32_t units;

	assert(hdr->length == 72 && hdr->num_attrs == 3);
	assert(attr[0].attr_id == CAIRN_ATTR_RING_REQUEST && attr[0].len == 8);
	assert(attr[1].attr_id == CAIRN_ATTR_RING_DESC);
	assert(attr[1].len == sizeof(*resp));
	memcpy(&req, &attr[0].data, sizeof(req));
	resp = (void *)(uintptr_t)attr[1].data;
	ring = owned_ring(&attr[2], req.which);
	forget_next(ring);
	memset(resp, 0, sizeof(*resp));
	if (!req.max_wr)
		return 0;
	if (command("prepare")) {
		errno = fake.fail_err;
		return -1;
	}
	units = ring->desc.stride ? ring->desc.stride : FAKE_SQ_UNITS;
	resp->max_wr = pow2_at_least(req.max_wr);
	ring->next = ring->desc;
	ring->next_units = ring_place(&ring->next,
				      pow2_at_least(resp->max_wr * units));
	fake.prepared++;
	resp->ring = ring->next;
	if (fake.edit)
		fake.edit(&resp->ring);
	return 0;
}

/* Moves outstanding requests, [first, end), to the prepared ring. */
static int change_over(struct fake_ring *ring, uint32_t first, uint32_t end)
{
	struct fake_ring old = *ring;

	if (!ring->next.depth)
		return 0;
	forget_next(ring);
	if (end - first > old.next.depth)
		return EINVAL;
	ring->desc = old.next;
	ring->units = old.next_units;
	for (uint32_t i = first; i != end; i++)
		memcpy(fake_unit(ring, i), fake_unit(&old, i), CAIRN_UNIT_SIZE);
	/* Tests that still read the old ring must fail. */
	memset(old.units, 0xee, old.desc.ring_bytes);
	ring->dev->depth = ring->desc.depth;
	ring->dev->generation++;
	return 0;
}

static int change_over_posts(struct fake_ring *ring)
{
	return change_over(ring, ring->dev->index, ring->host->index);
}

/* ---- commands ---- */

#define TAIL(resp, core) ((void *)((uint8_t *)(resp) + sizeof(core)))
#define SIZED(cmd_size, resp_size, cmd, core, tail)			\
	assert((cmd_size) == (cmd) && (resp_size) == sizeof(core) + sizeof(tail))

void verbs_register_driver(const struct verbs_device_ops *ops)
{
	fake.dev_ops = ops;
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	*num_devices = 0;
	return NULL;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return fake.fork;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	size_t offset = offsetof(struct verbs_qp, comp_mask) +
			(fake.later_library ? 8 : 0);
	uint32_t comp_mask;

	memcpy(&comp_mask, (uint8_t *)qp + offset, sizeof(comp_mask));
	return comp_mask & VERBS_QP_EX ? (struct ibv_qp_ex *)qp : NULL;
}

void *_verbs_init_and_alloc_context(struct ibv_device *device, int cmd_fd,
				    size_t alloc_size,
				    struct verbs_context *context_offset,
				    uint32_t driver_id)
{
	uint8_t *priv = calloc(1, alloc_size);
	struct verbs_context *vctx;

	assert(priv && driver_id == CAIRN_DRIVER_ID);
	vctx = (void *)(priv + (uintptr_t)context_offset);
	vctx->context.device = device;
	vctx->context.cmd_fd = cmd_fd;
	fake.contexts++;
	return priv;
}

void verbs_uninit_context(struct verbs_context *vctx)
{
	assert(fake_is_device(vctx->context.cmd_fd));
	fake.contexts--;
}

void verbs_set_ops(struct verbs_context *vctx,
		   const struct verbs_context_ops *ops)
{
	(void)vctx;
	fake.ops = *ops;
}

int ibv_cmd_get_context(struct verbs_context *vctx, void *cmd, size_t cmd_size,
			void *resp, size_t resp_size)
{
	struct cairn_alloc_ucontext_resp *tail =
		TAIL(resp, struct ib_uverbs_get_context_resp);

	(void)vctx;
	(void)cmd;
	SIZED(cmd_size, resp_size, 16, struct ib_uverbs_get_context_resp,
	      *tail);
	tail->abi_version = fake.abi_version;
	tail->page_size = fake.page_size;
	tail->max_inline = CAIRN_MAX_INLINE;
	tail->max_sge = CAIRN_MAX_SGE;
	return command("get_context");
}

int ibv_cmd_query_device_any(struct ibv_context *ctx,
			     const struct ibv_query_device_ex_input *input,
			     struct ibv_device_attr_ex *attr, size_t attr_size,
			     struct ib_uverbs_ex_query_device_resp *resp,
			     size_t *resp_size)
{
	(void)ctx;
	(void)input;
	assert(*resp_size == 304);
	memset(attr, 0, attr_size);
	resp->base.fw_ver = 1ull << 32 | 22ull << 16 | 333;
	return command("query_device");
}

int ibv_cmd_query_port(struct ibv_context *ctx, uint8_t port_num,
		       struct ibv_port_attr *attr, void *cmd, size_t cmd_size)
{
	(void)ctx;
	(void)cmd;
	assert(cmd_size == 24);
	attr->lid = port_num;
	return 0;
}

static int created(const char *name)
{
	int err = command(name);

	fake.objects += !err;
	return err;
}

static int destroyed(const char *name)
{
	int err = command(name);

	fake.objects -= !err;
	return err;
}

int ibv_cmd_alloc_pd(struct ibv_context *ctx, struct ibv_pd *pd, void *cmd,
		     size_t cmd_size, void *resp, size_t resp_size)
{
	(void)cmd;
	(void)resp;
	assert(cmd_size == 16 && resp_size == 4);
	pd->context = ctx;
	return created("alloc_pd");
}

int ibv_cmd_dealloc_pd(struct ibv_pd *pd)
{
	(void)pd;
	return destroyed("dealloc_pd");
}

int ibv_cmd_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
		   uint64_t hca_va, int access, struct verbs_mr *vmr, void *cmd,
		   size_t cmd_size, void *resp, size_t resp_size)
{
	(void)addr;
	(void)length;
	(void)hca_va;
	vmr->access = access;
	vmr->ibv_mr.context = pd->context;
	vmr->ibv_mr.lkey = fake.mr_key;
	memset(&fake.mr_req, 0, sizeof(fake.mr_req));
	if (cmd_size == 48) {
		assert(resp_size == 12);
	} else {
		struct cairn_reg_mr_resp *tail =
			TAIL(resp, struct ib_uverbs_reg_mr_resp);

		assert(cmd_size == 48 + sizeof(fake.mr_req) &&
		       resp_size == 12 + sizeof(*tail));
		memcpy(&fake.mr_req, (uint8_t *)cmd + 48, sizeof(fake.mr_req));
		tail->flags = fake.mr_req.flags & ~fake.mr_echo_lacks;
	}
	return created("reg_mr");
}

int ibv_cmd_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		      uint32_t flags, struct ibv_sge *sg_list,
		      uint32_t num_sge)
{
	(void)pd;
	assert(advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE);
	assert(flags == IBV_ADVISE_MR_FLAG_FLUSH);
	assert(num_sge == 2 && sg_list[1].length == 7);
	return command("advise_mr");
}

int ibv_cmd_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
			  uint64_t iova, int fd, int access,
			  struct verbs_mr *vmr, void *driver)
{
	(void)driver;
	(void)offset;
	(void)length;
	(void)iova;
	(void)fd;
	vmr->access = access;
	vmr->ibv_mr.context = pd->context;
	return created("reg_dmabuf_mr");
}

int ibv_cmd_rereg_mr(struct verbs_mr *vmr, uint32_t flags, void *addr,
		     size_t length, uint64_t hca_va, int access,
		     struct ibv_pd *pd, void *cmd, size_t cmd_size, void *resp,
		     size_t resp_size)
{
	(void)flags;
	(void)length;
	(void)pd;
	(void)cmd;
	(void)resp;
	assert(cmd_size == 56 && resp_size == 8 && hca_va == (uintptr_t)addr);
	vmr->access = access;
	return command("rereg_mr");
}

int ibv_cmd_dereg_mr(struct verbs_mr *vmr)
{
	(void)vmr;
	return destroyed("dereg_mr");
}

int ibv_cmd_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type,
		     struct ibv_mw *mw, void *cmd, size_t cmd_size, void *resp,
		     size_t resp_size)
{
	(void)cmd;
	(void)resp;
	assert(cmd_size == 24 && resp_size == 8);
	mw->context = pd->context;
	mw->pd = pd;
	mw->type = type;
	mw->rkey = 0x77fe;
	return created("alloc_mw");
}

int ibv_cmd_dealloc_mw(struct ibv_mw *mw)
{
	(void)mw;
	return destroyed("dealloc_mw");
}

uint32_t *fake_release_words(void)
{
	return (void *)(fake.memory + RELEASE_BASE);
}

int fake_release(const struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *attr = hdr->attrs;
	struct cairn_dereg_mr_resp *resp;

	assert(hdr->length == 56 && hdr->num_attrs == 2);
	assert(attr[0].attr_id == CAIRN_ATTR_DEREG_MR_HANDLE && !attr[0].len);
	assert(attr[1].attr_id == CAIRN_ATTR_DEREG_MR_RESP);
	assert(attr[1].len == sizeof(*resp));
	assert(attr[0].flags == UVERBS_ATTR_F_MANDATORY &&
	       attr[1].flags == UVERBS_ATTR_F_MANDATORY);
	errno = destroyed("dereg_mr_async");
	if (errno)
		return -1;
	fake.released_mr = attr[0].data;
	resp = (void *)(uintptr_t)attr[1].data;
	*resp = (struct cairn_dereg_mr_resp){
		.offset = RELEASE_BASE,
		.ticket = fake.next_ticket++,
		.slots = fake.release_slots,
	};
	return 0;
}

int ibv_cmd_create_ah(struct ibv_pd *pd, struct ibv_ah *ah,
		      struct ibv_ah_attr *attr, void *resp, size_t resp_size)
{
	struct cairn_create_ah_resp *tail =
		TAIL(resp, struct ib_uverbs_create_ah_resp);

	(void)attr;
	assert(resp_size == 12);
	ah->context = pd->context;
	tail->ah_num = 0xa11;
	return created("create_ah");
}

int ibv_cmd_destroy_ah(struct ibv_ah *ah)
{
	(void)ah;
	return destroyed("destroy_ah");
}

int ibv_cmd_create_cq(struct ibv_context *ctx, int cqe,
		      struct ibv_comp_channel *channel, int comp_vector,
		      struct ibv_cq *cq, void *cmd, size_t cmd_size, void *resp,
		      size_t resp_size)
{
	struct cairn_create_cq_resp *tail =
		TAIL(resp, struct ib_uverbs_create_cq_resp);
	uint32_t depth = pow2_at_least((uint32_t)cqe);
	int err = created("create_cq");

	(void)channel;
	(void)comp_vector;
	(void)cmd;
	SIZED(cmd_size, resp_size, 40, struct ib_uverbs_create_cq_resp, *tail);
	if (err)
		return err;
	ring_create(&tail->ring, depth, 1);
	cq->context = ctx;
	cq->handle = fake.last_qid;
	cq->cqe = (int)depth;
	return 0;
}

int ibv_cmd_create_cq_ex(struct ibv_context *ctx,
			 const struct ibv_cq_init_attr_ex *attr,
			 struct verbs_cq *vcq, void *cmd, size_t cmd_size,
			 void *resp, size_t resp_size, uint32_t cmd_flags)
{
	struct cairn_create_cq_resp *tail =
		TAIL(resp, struct ib_uverbs_ex_create_cq_resp);
	uint32_t depth = pow2_at_least(attr->cqe);
	int err = created("create_cq");

	(void)cmd;
	(void)cmd_flags;
	SIZED(cmd_size, resp_size, 56, struct ib_uverbs_ex_create_cq_resp,
	      *tail);
	fake.cq_attr = *attr;
	if (err)
		return err;
	ring_create(&tail->ring, depth, 1);
	vcq->cq.context = ctx;
	vcq->cq.handle = fake.last_qid;
	vcq->cq.cqe = (int)depth;
	return 0;
}

int ibv_cmd_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr,
		      void *cmd, size_t cmd_size)
{
	(void)cq;
	(void)attr;
	(void)cmd;
	assert(cmd_size == 40);
	return command("modify_cq");
}

int ibv_cmd_resize_cq(struct ibv_cq *cq, int cqe, void *cmd, size_t cmd_size,
		      void *resp, size_t resp_size)
{
	struct fake_ring *ring = &fake.rings[cq->handle];
	int err = command("resize_cq");

	(void)cmd;
	(void)resp;
	assert(cmd_size == 24 && resp_size == 8);
	assert(ring->next.depth >= (uint32_t)cqe);
	if (!err)
		err = change_over(ring, ring->host->index, ring->dev->index);
	if (!err)
		cq->cqe = (int)ring->desc.depth;
	return err;
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	(void)cq;
	return destroyed("destroy_cq");
}

static uint32_t recv_stride(uint32_t sges)
{
	return (CAIRN_RECV_SGE_OFFSET + sges * 16 + CAIRN_UNIT_SIZE - 1) /
	       CAIRN_UNIT_SIZE;
}

int ibv_cmd_create_srq(struct ibv_pd *pd, struct ibv_srq *srq,
		       struct ibv_srq_init_attr *attr, void *cmd,
		       size_t cmd_size, void *resp, size_t resp_size)
{
	struct cairn_create_srq_resp *tail =
		TAIL(resp, struct ib_uverbs_create_srq_resp);
	uint32_t stride = recv_stride(attr->attr.max_sge);
	int err = created("create_srq");

	(void)cmd;
	SIZED(cmd_size, resp_size, 40, struct ib_uverbs_create_srq_resp, *tail);
	if (err)
		return err;
	ring_create(&tail->rq, pow2_at_least(attr->attr.max_wr * stride),
		    stride);
	attr->attr.max_sge += fake.more_sge;
	srq->context = pd->context;
	srq->handle = fake.last_qid;
	return 0;
}

int ibv_cmd_create_srq_ex(struct ibv_context *ctx, struct verbs_srq *vsrq,
			  struct ibv_srq_init_attr_ex *attr, void *cmd,
			  size_t cmd_size, void *resp, size_t resp_size)
{
	struct cairn_create_srq_resp *tail =
		TAIL(resp, struct ib_uverbs_create_srq_resp);
	uint32_t stride = recv_stride(attr->attr.max_sge);
	int err = created("create_srq");

	(void)cmd;
	SIZED(cmd_size, resp_size, 56, struct ib_uverbs_create_srq_resp, *tail);
	if (err)
		return err;
	ring_create(&tail->rq, pow2_at_least(attr->attr.max_wr * stride),
		    stride);
	attr->attr.max_sge += fake.more_sge;
	vsrq->srq.context = ctx;
	vsrq->srq.handle = fake.last_qid;
	vsrq->srq_type = attr->srq_type;
	vsrq->srq_num = FAKE_SRQN;
	return 0;
}

int ibv_cmd_open_xrcd(struct ibv_context *ctx, struct verbs_xrcd *xrcd,
		      int xrcd_size, struct ibv_xrcd_init_attr *attr, void *cmd,
		      size_t cmd_size, void *resp, size_t resp_size)
{
	int err = created("open_xrcd");

	(void)attr;
	(void)cmd;
	(void)resp;
	assert(xrcd_size == 16 && cmd_size == 24 && resp_size == 4);
	xrcd->xrcd.context = ctx;
	return err;
}

int ibv_cmd_close_xrcd(struct verbs_xrcd *xrcd)
{
	(void)xrcd;
	return destroyed("close_xrcd");
}

int ibv_cmd_open_qp(struct ibv_context *ctx, struct verbs_qp *vqp, int vqp_size,
		    struct ibv_qp_open_attr *attr, void *cmd, size_t cmd_size,
		    void *resp, size_t resp_size)
{
	int err = created("open_qp");

	(void)cmd;
	(void)resp;
	assert(vqp_size >= 368 && cmd_size == 40 && resp_size == 32);
	vqp->qp.context = ctx;
	vqp->qp.qp_type = attr->qp_type;
	vqp->qp.qp_num = attr->qp_num;
	return err;
}

int ibv_cmd_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask,
		       void *cmd, size_t cmd_size)
{
	struct fake_ring *ring = &fake.rings[srq->handle];
	int err = command("modify_srq");

	(void)attr;
	(void)cmd;
	assert(cmd_size == 24);
	fake.modify_mask = mask;
	if (!err && (mask & IBV_SRQ_MAX_WR)) {
		assert(ring->next.depth);
		err = change_over_posts(ring);
	}
	return err;
}

int ibv_cmd_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, void *cmd,
		      size_t cmd_size)
{
	(void)srq;
	(void)attr;
	(void)cmd;
	assert(cmd_size == 24);
	return command("query_srq");
}

int ibv_cmd_destroy_srq(struct ibv_srq *srq)
{
	(void)srq;
	return destroyed("destroy_srq");
}

int ibv_cmd_create_qp_ex(struct ibv_context *ctx, struct verbs_qp *vqp,
			 struct ibv_qp_init_attr_ex *attr, void *cmd,
			 size_t cmd_size, void *resp, size_t resp_size)
{
	struct cairn_create_qp_resp *tail =
		TAIL(resp, struct ib_uverbs_create_qp_resp);
	uint32_t stride = recv_stride(attr->cap.max_recv_sge);
	uint32_t first = fake.next_qid;
	int err = created("create_qp");

	(void)cmd;
	SIZED(cmd_size, resp_size, 64, struct ib_uverbs_create_qp_resp, *tail);
	fake.qp_attr = *attr;
	if (err)
		return err;
	if (attr->cap.max_send_wr && fake.max_send_wr)
		attr->cap.max_send_wr = fake.max_send_wr;
	if (attr->cap.max_send_wr)
		ring_create(&tail->sq, fake.sq_depth, 0);
	if (!attr->srq && attr->cap.max_recv_wr)
		ring_create(&tail->rq,
			    pow2_at_least(attr->cap.max_recv_wr * stride),
			    stride);
	attr->cap.max_send_sge += fake.more_sge;
	attr->cap.max_recv_sge += fake.more_sge;
	vqp->qp.context = ctx;
	vqp->qp.pd = attr->pd;
	vqp->qp.handle = first;
	vqp->qp.qp_type = attr->qp_type;
	vqp->qp.srq = attr->srq;
	vqp->qp.send_cq = attr->send_cq;
	vqp->qp.recv_cq = attr->recv_cq;
	vqp->qp.qp_num = fake.last_qid;
	return 0;
}

static int modify_qp(struct ibv_qp *qp, int mask, int err)
{
	fake.modify_mask = mask;
	fake.qp_changes++;
	if (err || !(mask & IBV_QP_CAP))
		return err;
	assert(fake.prepared);
	err = change_over_posts(fake_sq(qp));
	if (!err && to_cqp(qp)->rq.queue.ring.units)
		err = change_over_posts(fake_rq(qp));
	return err;
}

int ibv_cmd_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		      void *cmd, size_t cmd_size)
{
	(void)attr;
	(void)cmd;
	assert(cmd_size == 120);
	/* as libibverbs: other attributes need the extended command */
	if (mask & ~(2 * IBV_QP_DEST_QPN - 1))
		return EOPNOTSUPP;
	return modify_qp(qp, mask, command("modify_qp"));
}

int ibv_cmd_modify_qp_ex(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			 void *cmd, size_t cmd_size, void *resp,
			 size_t resp_size)
{
	(void)resp;
	assert(mask & IBV_QP_RATE_LIMIT && resp_size == 8);
	memset(&fake.rate, 0, sizeof(fake.rate));
	if (cmd_size != 144) {
		assert(cmd_size == 144 + sizeof(fake.rate));
		memcpy(&fake.rate, (uint8_t *)cmd + 144, sizeof(fake.rate));
	}
	fake.rate_limit = attr->rate_limit;
	return modify_qp(qp, mask, command("modify_qp_ex"));
}

int ibv_cmd_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		     struct ibv_qp_init_attr *init_attr, void *cmd,
		     size_t cmd_size)
{
	(void)qp;
	(void)attr;
	(void)mask;
	(void)init_attr;
	(void)cmd;
	assert(cmd_size == 24);
	return command("query_qp");
}

int ibv_cmd_destroy_qp(struct ibv_qp *qp)
{
	(void)qp;
	return destroyed("destroy_qp");
}

int ibv_cmd_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
			 uint16_t lid)
{
	(void)qp;
	(void)gid;
	(void)lid;
	return 0;
}

int ibv_cmd_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
			 uint16_t lid)
{
	(void)qp;
	(void)gid;
	(void)lid;
	return 0;
}

/* ---- shorthand for tests ---- */

static struct ibv_context *fake_open_at(struct verbs_device *device, int fd)
{
	struct verbs_context *vctx;

	device->ops = fake.dev_ops;
	strcpy(device->device.name, "fake");
	snprintf(device->device.ibdev_path, sizeof(device->device.ibdev_path), "%s",
		 fake.sysfs ? fake.sysfs : "");
	vctx = fake.dev_ops->alloc_context(&device->device, fd, NULL);
	return vctx ? &vctx->context : NULL;
}

struct ibv_context *fake_open(void)
{
	static struct cairn_device device;

	if (!fake.memory)
		fake_reset();
	return fake_open_at(&device.vdev, fake.fd);
}

struct ibv_context *fake_open_second(void)
{
	static struct cairn_device device;

	fake.second_fd = dup(fake.fd);
	assert(fake.second_fd > 0);
	return fake_open_at(&device.vdev, fake.second_fd);
}

void fake_close(struct ibv_context *ctx)
{
	fake.ops.free_context(ctx);
}

struct ibv_pd *fake_pd(struct ibv_context *ctx)
{
	return fake.ops.alloc_pd(ctx);
}

struct ibv_cq *fake_cq(struct ibv_context *ctx, int cqe)
{
	return fake.ops.create_cq(ctx, cqe, NULL, 0);
}

struct ibv_qp *fake_qp(struct ibv_pd *pd, struct ibv_cq *cq,
		       enum ibv_qp_type type, uint64_t send_ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = 16,
			.max_recv_wr = 16,
			.max_send_sge = CAIRN_MAX_SGE,
			.max_recv_sge = 3,
			.max_inline_data = CAIRN_MAX_INLINE,
		},
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp;

	if (send_ops) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = send_ops;
	}
	qp = fake.ops.create_qp_ex(pd->context, &attr);
	if (qp)
		qp->state = IBV_QPS_RTS;
	return qp;
}

struct fake_ring *fake_sq(struct ibv_qp *qp)
{
	return &fake.rings[to_cqp(qp)->sq.ring.qid];
}

struct fake_ring *fake_cq_ring(struct ibv_cq *cq)
{
	return &fake.rings[to_ccq(cq)->queue.ring.qid];
}

const struct cairn_send_wqe *fake_send_wqe(struct ibv_qp *qp, uint32_t units)
{
	return fake_unit(fake_sq(qp), fake.start_index + units);
}

void fake_persisted(struct ibv_qp *qp, uint32_t *units, uint8_t status,
		    uint8_t durability)
{
	const struct cairn_send_wqe *wqe = fake_send_wqe(qp, *units);

	fake_complete(fake_cq_ring(qp->send_cq), &(struct cairn_cqe){
		.wr_id = wqe->wr_id,
		.opcode = CAIRN_CQE_WRITE_PERSIST,
		.status = status,
		.vendor_err = status ? 5 : 0,
		.qpn = qp->qp_num,
		.durability = durability,
	});
	*units += wqe->units;
}

struct fake_ring *fake_rq(struct ibv_qp *qp)
{
	return &fake.rings[to_cqp(qp)->rq.queue.ring.qid];
}
