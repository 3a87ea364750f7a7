// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* GC of cairn-cni, with made-up devices: which of them go, and that it ends. */
int cni_main(void);
#define main cni_main
#include "../cni/cni.c"
#undef main

#include "ktap.h"

#define PREFIX	"cairn-319ec8-"		/* of the network "net" */
#define MOST	8

static struct {
	struct link link;
	bool stays;	/* the kernel refuses to remove it */
	bool returns;	/* it is made again at once */
} devices[MOST];

static unsigned int count, deleted;

int link_open(struct nl_sock **sock)
{
	*sock = NULL;
	return 0;
}

int link_each(struct nl_sock *sock, void (*visit)(const struct link *link, void *arg), void *arg)
{
	(void)sock;
	for (unsigned int i = 0; i < count; i++)
		visit(&devices[i].link, arg);
	return 0;
}

int link_delete(struct nl_sock *sock, uint32_t index)
{
	unsigned int i = 0;

	(void)sock;
	/* it would never end */
	if (++deleted > 2 * MOST)
		abort();
	while (i < count && devices[i].link.index != index)
		i++;
	if (i == count || devices[i].stays)
		return -ENODEV;
	if (devices[i].returns)
		devices[i].link.index += 100;
	else
		devices[i] = devices[--count];
	return 0;
}

int link_add(struct nl_sock *sock, const char *name, const char *netdev)
{
	(void)sock, (void)name, (void)netdev;
	return -EIO;
}

int link_find(struct nl_sock *sock, const char *name, uint32_t *index)
{
	(void)sock, (void)name, (void)index;
	return -EIO;
}

int link_netdev(struct nl_sock *sock, uint32_t index, char netdev[IFNAMSIZ])
{
	(void)sock, (void)index, (void)netdev;
	return -EIO;
}

int link_chardev(struct nl_sock *sock, uint32_t index, const char *type)
{
	(void)sock, (void)index, (void)type;
	return -EIO;
}

static void device(const char *name, bool stays, bool returns)
{
	devices[count].stays = stays;
	devices[count].returns = returns;
	devices[count].link.index = count + 1;
	snprintf(devices[count].link.name, sizeof(devices[count].link.name), "%s", name);
	count++;
}

static bool is_left(const char *name)
{
	for (unsigned int i = 0; i < count; i++) {
		if (!strcmp(devices[i].link.name, name))
			return true;
	}
	return false;
}

/* GC with the attachment of eth0 to one container */
static void collect(void)
{
	struct call call = {
		.command = CALL_GC, .network = "net",
		.config = json_tokener_parse("{\"cni.dev/valid-attachments\":"
					     "[{\"containerID\":\"c1\",\"ifname\":\"eth0\"}]}"),
	};

	deleted = 0;
	cni_gc(&call);
	json_object_put(call.config);
}

static void takes_what_is_not_valid(void)
{
	char valid[CNI_NAME];

	cni_name(valid, "net", "c1", "eth0");
	ktap_ok(!strncmp(valid, PREFIX, strlen(PREFIX)));
	count = 0;
	device("cairn0", false, false);
	device(PREFIX "0000000001", false, false);
	device(valid, false, false);
	device(PREFIX "0000000002", false, false);
	device("cairn-000000-0000000001", false, false);
	collect();
	ktap_eq(deleted, 2);
	ktap_eq(count, 3);
	ktap_ok(is_left("cairn0") && is_left(valid) && is_left("cairn-000000-0000000001"));
}

/* A NIC may have been given such a name. */
static void ends_with_a_device_that_stays(void)
{
	count = 0;
	device(PREFIX "0000000001", true, false);
	device(PREFIX "0000000002", false, false);
	collect();
	ktap_eq(deleted, 2);
	ktap_ok(count == 1 && is_left(PREFIX "0000000001"));
}

static void ends_with_a_device_that_returns(void)
{
	count = 0;
	device(PREFIX "0000000001", false, true);
	collect();
	ktap_eq(deleted, 1);
}

static const struct ktap_test tests[] = {
	KTAP(takes_what_is_not_valid),
	KTAP(ends_with_a_device_that_stays),
	KTAP(ends_with_a_device_that_returns),
};

KTAP_MAIN(tests)
