// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cairn-persist, an engine of fio: writes are WRITE_PERSIST, so fio's completion of a
 * write says that it is durable. Reads are RDMA READ. The target of each job is a
 * cairn_persist, which has the memory; job N of a host connects to port + N - 1.
 *
 * It is built with the headers of the fio that loads it: see cairn-persist-fio(1).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <infiniband/cairndv.h>

#include "fio.h"
#include "optgroup.h"

#define SPINS	1000	/* polls before the thread lets others run */

/* Each end sends this to the other: struct card of cairn_persist.c. */
struct card {
	union ibv_gid gid;
	uint32_t qpn, psn, rkey, mode;
	uint64_t addr, length;
	uint32_t size, depth;
	uint64_t messages;
	uint32_t mtu, reserved;
};

#define MODE_PERSIST	0

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
	struct card me, peer;
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

static int engine_open_device(struct engine *self, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i] && !self->context; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			self->context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (!self->context)
		return ENODEV;
	return cairndv_is_supported(self->context->device) ? 0 : EOPNOTSUPP;
}

static bool engine_is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

/* The first RoCE v2 GID of an IPv4 address, unless one was named. */
static int engine_find_gid(struct engine *self, int *index)
{
	struct ibv_gid_entry entries[64];
	ssize_t num = ibv_query_gid_table(self->context, entries, 64, 0);

	for (ssize_t i = 0; i < num; i++) {
		if (*index >= 0 ? entries[i].gid_index != (uint32_t)*index :
		    entries[i].gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    !engine_is_ipv4(&entries[i].gid))
			continue;
		self->me.gid = entries[i].gid;
		*index = (int)entries[i].gid_index;
		return 0;
	}
	return ENOENT;
}

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
	self->me.mode = MODE_PERSIST;
	return 0;
}

static int engine_connect_qp(struct engine *self, int gid_index)
{
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = min(self->me.mtu, self->peer.mtu),
		.dest_qp_num = self->peer.qpn, .rq_psn = self->peer.psn,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 1,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .dgid = self->peer.gid, .hop_limit = 64,
				 .sgid_index = (uint8_t)gid_index },
		},
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS, .sq_psn = self->me.psn, .timeout = 14,
		.retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 16,
	};
	int err = ibv_modify_qp(self->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	if (!err)
		err = ibv_modify_qp(self->qp, &rtr, IBV_QP_STATE | IBV_QP_AV |
				    IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MIN_RNR_TIMER |
				    IBV_QP_MAX_DEST_RD_ATOMIC);
	if (!err)
		err = ibv_modify_qp(self->qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN |
				    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	return err;
}

/* ---- TCP ---- */

static int engine_transfer(struct engine *self, void *data, size_t bytes, bool out)
{
	uint8_t *pos = data;
	ssize_t done;

	while (bytes) {
		done = out ? send(self->sock, pos, bytes, MSG_NOSIGNAL) :
			     recv(self->sock, pos, bytes, 0);
		if (done <= 0)
			return ECONNRESET;
		pos += done;
		bytes -= (size_t)done;
	}
	return 0;
}

static int engine_exchange(struct engine *self)
{
	int err = engine_transfer(self, &self->me, sizeof(self->me), true);

	return err ? err : engine_transfer(self, &self->peer, sizeof(self->peer), false);
}

static int engine_barrier(struct engine *self)
{
	char byte = 0;
	int err = engine_transfer(self, &byte, 1, true);

	return err ? err : engine_transfer(self, &byte, 1, false);
}

static int engine_connect_tcp(struct engine *self, const char *host, unsigned int port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *info;
	char service[16];
	int err = 0;

	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(host, service, &hints, &info))
		return EHOSTUNREACH;
	self->sock = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (self->sock < 0 || connect(self->sock, info->ai_addr, info->ai_addrlen))
		err = errno;
	freeaddrinfo(info);
	return err;
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
	int err = engine_open_device(self, opts->device);

	if (err)
		return engine_fail(td, err, opts->device);
	err = engine_find_gid(self, &gid_index);
	if (err)
		return engine_fail(td, err, "no such GID");
	err = engine_create_qp(self, td->o.iodepth);
	if (err)
		return engine_fail(td, err, "queue pair");
	/* the target divides its memory into messages of this size */
	self->me.size = (uint32_t)td_max_bs(td);
	self->me.depth = td->o.iodepth;
	err = engine_connect_tcp(self, opts->host, opts->port + td->thread_number - 1);
	if (!err)
		err = engine_exchange(self);
	if (err)
		return engine_fail(td, err, opts->host);
	if (td->o.start_offset + td->o.size > self->peer.length)
		return engine_fail(td, ENOSPC, "size is larger than the target's memory");
	err = engine_connect_qp(self, gid_index);
	if (!err)
		err = engine_barrier(self);
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

static int engine_getevents(struct thread_data *td, unsigned int least, unsigned int most,
			    const struct timespec *limit)
{
	struct engine *self = td->io_ops_data;
	unsigned int found = 0, spins = 0;
	struct timespec began, now;
	int got;

	(void)clock_gettime(CLOCK_MONOTONIC, &began);
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
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
		if (limit && now.tv_sec - began.tv_sec > limit->tv_sec)
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
		(void)engine_barrier(self);
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
