// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cairn-persist, an engine of fio: writes are WRITE_PERSIST, so fio's completion of a
 * write says that it is durable. Reads are RDMA READ. The target of each job is a
 * cairn_persist, which has the memory; job N of a host connects to port + N - 1.
 *
 * It is built with the headers of the fio that loads it: see cairn-persist-fio(1).
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <infiniband/cairndv.h>

#include "fio.h"
#include "optgroup.h"
#include "persist_meet.h"

#define SPINS	1000	/* polls before the thread lets others run */

/* The first member is fio's: an option has no offset of 0. */
struct engine_options {
	void *pad;
	char *device, *host;
	unsigned int port;
	int gid_index;
};

struct engine {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct persist_card me, peer;
	int sock;
	struct io_u **events;
};

static struct fio_option options[] = {
	{
		.name = "device", .lname = "RDMA device", .type = FIO_OPT_STR_STORE,
		.off1 = offsetof(struct engine_options, device),
		.help = "cairn device of this host",
		.category = FIO_OPT_C_ENGINE, .group = FIO_OPT_G_INVALID,
	},
	{
		.name = "host", .lname = "Target", .type = FIO_OPT_STR_STORE,
		.off1 = offsetof(struct engine_options, host),
		.help = "address of the host where cairn_persist runs",
		.category = FIO_OPT_C_ENGINE, .group = FIO_OPT_G_INVALID,
	},
	{
		.name = "port", .lname = "TCP port", .type = FIO_OPT_INT,
		.off1 = offsetof(struct engine_options, port),
		.minval = 1, .maxval = 65535, .def = "18516",
		.help = "TCP port of the first job's cairn_persist",
		.category = FIO_OPT_C_ENGINE, .group = FIO_OPT_G_INVALID,
	},
	{
		.name = "gid_index", .lname = "GID index", .type = FIO_OPT_INT,
		.off1 = offsetof(struct engine_options, gid_index), .def = "-1",
		.help = "index in the device's GID table",
		.category = FIO_OPT_C_ENGINE, .group = FIO_OPT_G_INVALID,
	},
	{ .name = NULL },
};

static int engine_fail(struct thread_data *td, int err, const char *what)
{
	if (!err)
		err = EIO;
	log_err("cairn-persist: %s: %s\n", what, strerror(err));
	td_verror(td, err, what);
	return 1;
}

/* ---- device ---- */

static int engine_create_qp(struct engine *self, uint32_t depth)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = depth, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_port_attr port;

	self->pd = ibv_alloc_pd(self->context);
	self->cq = ibv_create_cq(self->context, (int)depth + 1, NULL, NULL, 0);
	if (!self->pd || !self->cq || ibv_query_port(self->context, 1, &port))
		return errno ? errno : EIO;
	attr.send_cq = self->cq;
	attr.recv_cq = self->cq;
	self->qp = ibv_create_qp(self->pd, &attr);
	if (!self->qp)
		return errno;
	self->me.qpn = self->qp->qp_num;
	self->me.psn = 0x1000;
	self->me.mtu = port.active_mtu;
	self->me.mode = PERSIST_MODE_PERSIST;
	return 0;
}

/* ---- what fio calls ---- */

/* In fio's first process: the file is the target's memory, as long as "size" says. */
static int engine_setup(struct thread_data *td)
{
	const struct engine_options *opts = td->eo;

	if (!opts->device || !opts->host) {
		log_err("cairn-persist: device and host are needed\n");
		return 1;
	}
	if (!td->o.size) {
		log_err("cairn-persist: size is needed\n");
		return 1;
	}
	if (!td->files_index) {
		add_file(td, td->o.filename ? : "cairn-persist", 0, 0);
		td->o.nr_files = td->o.nr_files ? : 1;
		td->o.open_files++;
	}
	td->files[0]->real_file_size = td->o.size;
	fio_file_set_size_known(td->files[0]);
	return 0;
}

static int engine_start(struct thread_data *td, struct engine *self)
{
	struct engine_options *opts = td->eo;
	int gid_index = opts->gid_index;
	unsigned int port = opts->port + td->thread_number - 1;
	int err;

	self->context = persist_meet_device(opts->device);
	if (!self->context)
		return engine_fail(td, errno, opts->device);
	if (!cairndv_is_supported(self->context->device))
		return engine_fail(td, EOPNOTSUPP, opts->device);
	err = persist_meet_gid(self->context, &gid_index, &self->me.gid);
	if (err)
		return engine_fail(td, err, "no such GID");
	err = engine_create_qp(self, td->o.iodepth);
	if (err)
		return engine_fail(td, err, "queue pair");
	/* the target divides its memory into messages of this size */
	self->me.size = (uint32_t)td_max_bs(td);
	self->me.depth = td->o.iodepth;
	if (port > UINT16_MAX)
		return engine_fail(td, EINVAL, "port");
	self->sock = persist_meet_connect(opts->host, (uint16_t)port);
	err = self->sock < 0 ? errno :
			       persist_meet_exchange(self->sock, &self->me, &self->peer);
	if (err)
		return engine_fail(td, err, opts->host);
	if (td->o.start_offset + td->o.size > self->peer.length)
		return engine_fail(td, ENOSPC, "size is larger than the target's memory");
	err = persist_meet_qp(self->qp, &self->me, &self->peer, gid_index, 0);
	if (!err)
		err = persist_meet_barrier(self->sock);
	return err ? engine_fail(td, err, "connecting") : 0;
}

static int engine_init(struct thread_data *td)
{
	struct engine *self = calloc(1, sizeof(*self));

	if (!self)
		return engine_fail(td, ENOMEM, "memory");
	self->sock = -1;
	td->io_ops_data = self;
	self->events = calloc(td->o.iodepth, sizeof(*self->events));
	if (!self->events)
		return engine_fail(td, ENOMEM, "memory");
	return engine_start(td, self);
}

/* fio's buffers are there now. */
static int engine_post_init(struct thread_data *td)
{
	struct engine *self = td->io_ops_data;

	self->mr = ibv_reg_mr(self->pd, td->orig_buffer, td->orig_buffer_size,
			      IBV_ACCESS_LOCAL_WRITE);
	return self->mr ? 0 : engine_fail(td, errno, "registering the buffers");
}

static enum fio_q_status engine_end(struct io_u *io_u, int err)
{
	io_u->error = err;
	return FIO_Q_COMPLETED;
}

static enum fio_q_status engine_queue(struct thread_data *td, struct io_u *io_u)
{
	struct engine *self = td->io_ops_data;
	struct ibv_sge piece = {
		.addr = (uintptr_t)io_u->xfer_buf,
		.length = (uint32_t)io_u->xfer_buflen,
		.lkey = self->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)io_u, .sg_list = &piece, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = self->peer.addr + io_u->offset,
			     .rkey = self->peer.rkey },
	}, *bad;
	int err;

	switch (io_u->ddir) {
	case DDIR_WRITE:
		wr.opcode = CAIRNDV_WR_WRITE_PERSIST;
		break;
	case DDIR_READ:
		wr.opcode = IBV_WR_RDMA_READ;
		break;
	case DDIR_SYNC:
	case DDIR_DATASYNC:
	case DDIR_SYNC_FILE_RANGE:
		/* every completed write is durable */
		return engine_end(io_u, 0);
	default:
		return engine_end(io_u, EOPNOTSUPP);
	}
	err = ibv_post_send(self->qp, &wr, &bad);
	if (err == ENOMEM)
		return FIO_Q_BUSY;
	return err ? engine_end(io_u, err) : FIO_Q_QUEUED;
}

/* One completion, if there is any: 1, 0 or a negative errno. */
static int engine_take(struct engine *self, struct io_u **io_u)
{
	struct ibv_wc wc;
	int got = ibv_poll_cq(self->cq, 1, &wc);

	if (got < 0)
		return -EIO;
	if (!got)
		return 0;
	*io_u = (struct io_u *)(uintptr_t)wc.wr_id;
	(*io_u)->error = 0;
	if (wc.status == IBV_WC_SUCCESS)
		return 1;
	if (wc.status != IBV_WC_WR_FLUSH_ERR)
		log_err("cairn-persist: %s\n", ibv_wc_status_str(wc.status));
	(*io_u)->error = EIO;
	return 1;
}

/* Whether @limit has passed since the first call of this kind, in which *@began is 0. */
static bool engine_is_late(struct timespec *began, const struct timespec *limit)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	if (!began->tv_sec)
		*began = now;
	return now.tv_sec - began->tv_sec > limit->tv_sec;
}

/* The clock is not read while completions come: on some machines that is a system call. */
static int engine_getevents(struct thread_data *td, unsigned int least, unsigned int most,
			    const struct timespec *limit)
{
	struct engine *self = td->io_ops_data;
	unsigned int found = 0, spins = 0;
	struct timespec began = {};
	int got;

	while (found < most) {
		got = engine_take(self, &self->events[found]);
		if (got < 0)
			return got;
		found += (unsigned int)got;
		if (got)
			continue;
		if (found >= least)
			break;
		if (++spins % SPINS)
			continue;
		sched_yield();
		if (limit && engine_is_late(&began, limit))
			break;
	}
	return (int)found;
}

static struct io_u *engine_event(struct thread_data *td, int event)
{
	const struct engine *self = td->io_ops_data;

	return self->events[event];
}

static void engine_cleanup(struct thread_data *td)
{
	struct engine *self = td->io_ops_data;

	if (!self)
		return;
	/* the target ends, too, when it has seen this */
	if (self->sock >= 0 && self->peer.qpn)
		(void)persist_meet_barrier(self->sock);
	if (self->sock >= 0)
		close(self->sock);
	if (self->qp)
		ibv_destroy_qp(self->qp);
	if (self->mr)
		ibv_dereg_mr(self->mr);
	if (self->cq)
		ibv_destroy_cq(self->cq);
	if (self->pd)
		ibv_dealloc_pd(self->pd);
	if (self->context)
		ibv_close_device(self->context);
	free(self->events);
	free(self);
	td->io_ops_data = NULL;
}

static int engine_open_file(struct thread_data *td, struct fio_file *file)
{
	(void)td;
	(void)file;
	return 0;
}

/* The name by which fio finds it. */
struct ioengine_ops ioengine = {
	.name = "cairn-persist",
	.version = FIO_IOOPS_VERSION,
	.flags = FIO_DISKLESSIO | FIO_NOEXTEND,
	.setup = engine_setup,
	.init = engine_init,
	.post_init = engine_post_init,
	.queue = engine_queue,
	.getevents = engine_getevents,
	.event = engine_event,
	.cleanup = engine_cleanup,
	.open_file = engine_open_file,
	.close_file = engine_open_file,
	.options = options,
	.option_struct_size = sizeof(struct engine_options),
};
