// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * For LD_PRELOAD, into a program of libfabric with one thread: it gets an event of
 * rdma_cm one look later.
 *
 * libfabric reads completions, then looks for events. When a connection has ended, it
 * destroys the queue pair before it reads completions again, and completions of a
 * destroyed queue pair are dropped. So a message that comes between the two, with the peer's
 * end behind it, is lost. Here it is read in between.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>

#include <rdma/rdma_cma.h>

int rdma_get_cm_event(struct rdma_event_channel *channel,
		      struct rdma_cm_event **event)
{
	int (*next)(struct rdma_event_channel *channel,
		    struct rdma_cm_event **event);
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	static bool seen;

	/*
	 * It stays with the kernel: one that was taken must be acknowledged. Nor is one
	 * taken that came after the look. A caller that waits for an event gets it:
	 * rdma_resolve_addr(), in this way.
	 */
	if (!seen && fcntl(fd.fd, F_GETFL) & O_NONBLOCK) {
		seen = poll(&fd, 1, 0) == 1;
		errno = EAGAIN;
		return -1;
	}
	seen = false;
	*(void **)&next = dlsym(RTLD_NEXT, "rdma_get_cm_event");
	return next(channel, event);
}
