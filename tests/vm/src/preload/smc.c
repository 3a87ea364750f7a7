// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* For LD_PRELOAD: a program's TCP sockets become sockets of AF_SMC. */
#include <dlfcn.h>
#include <sys/socket.h>

#ifndef AF_SMC
#define AF_SMC	43
#endif

#define TYPE_FLAGS	(SOCK_NONBLOCK | SOCK_CLOEXEC)

int socket(int domain, int type, int protocol)
{
	int (*next)(int, int, int);

	*(void **)&next = dlsym(RTLD_NEXT, "socket");
	if (domain == AF_INET && (type & ~TYPE_FLAGS) == SOCK_STREAM)
		return next(AF_SMC, type, 0);
	return next(domain, type, protocol);
}
