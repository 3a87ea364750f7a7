// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * For LD_PRELOAD, into a program of libfabric with one thread: it delays each event of
 * rdma_cm until the next call that asks for events.
 *
 * libfabric reads completions, then looks for events. When a connection has ended, it
 * destroys the queue pair before it reads completions again, and completions of a
 * destroyed queue pair are dropped. So it loses a message that arrives between the two
 * with the peer's disconnection behind it. Here it reads the message in between.
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
	 * The event stays with the kernel, as a taken event must be acknowledged. Nor is an
	 * event taken that came after the poll. A caller that waits for an event gets it:
	 * rdma_resolve_addr() does.
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
