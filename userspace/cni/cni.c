// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A chained CNI plugin that gives a pod's interface an RDMA device: see cairn-cni(8).
 *
 * It keeps no state. The name of a device follows from network, container and interface.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call.h"
#include "link.h"
#include "reply.h"

#define CNI_MODULES	3

static const char * const cni_modules[CNI_MODULES] = { "ib_core", "ib_uverbs", "cairn" };

/* --- names ---------------------------------------------------------------- */

/* FNV-1a with 64 bits, over a string and the NUL byte at its end */
static uint64_t cni_hash(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ULL;
	while (*text++);
	return hash;
}

#define CNI_HASH	0xcbf29ce484222325ULL
#define CNI_NAME	sizeof("cairn-123456-1234567890")

/* the part that the devices of one network have in common */
static int cni_prefix(char name[CNI_NAME], const char *network)
{
	return snprintf(name, CNI_NAME, "cairn-%06llx-",
			(unsigned long long)(cni_hash(CNI_HASH, network) & 0xffffff));
}

/* UCX takes names of at most 29 characters. */
static void cni_name(char name[CNI_NAME], const char *network, const char *container,
		     const char *ifname)
{
	uint64_t hash = cni_hash(cni_hash(cni_hash(CNI_HASH, network), container), ifname);
	int length = cni_prefix(name, network);

	snprintf(name + length, CNI_NAME - (size_t)length, "%010llx",
		 (unsigned long long)(hash & 0xffffffffffULL));
}

static void cni_name_of(char name[CNI_NAME], const struct call *call)
{
	cni_name(name, call->network, call->container, call->ifname);
}

/* --- modules -------------------------------------------------------------- */

static bool cni_is_listed(const char *path, const char *module)
{
	char line[4096], file[64];
	bool found = false;
	FILE *list = fopen(path, "re");

	if (!list)
		return false;
	snprintf(file, sizeof(file), "/%s.ko", module);
	while (!found && fgets(line, sizeof(line), list))
		found = strstr(line, file);
	fclose(list);
	return found;
}

/* loaded, or installed for the running kernel */
static bool cni_has_module(const char *module)
{
	static const char * const lists[] = { "modules.dep", "modules.builtin" };
	struct utsname system;
	char path[512];
	unsigned int i;

	snprintf(path, sizeof(path), "/sys/module/%s", module);
	if (!access(path, F_OK))
		return true;
	uname(&system);
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/lib/modules/%s/%s", system.release, lists[i]);
		if (cni_is_listed(path, module))
			return true;
	}
	return false;
}

/* End with an error if a module is neither loaded nor installed. */
static void cni_need_modules(enum reply_code code)
{
	unsigned int i;

	for (i = 0; i < CNI_MODULES; i++) {
		if (cni_has_module(cni_modules[i]))
			continue;
		reply_error(code, "the node's kernel has no module %s: install cairn-dkms%s on the node, and run cairn_doctor there",
			    cni_modules[i], strcmp(cni_modules[i], "cairn") ?
			    ", on Ubuntu also linux-modules-extra-$(uname -r)," : "");
	}
}

static bool cni_is_loaded(const char *module)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/%s", module);
	return !access(path, F_OK);
}

/* --- sockets -------------------------------------------------------------- */

static _Noreturn void cni_failed(const char *what, int rc)
{
	reply_error(REPLY_LINK, "%s: %s; run cairn_doctor on the node", what, strerror(-rc));
}

static struct nl_sock *cni_open(void)
{
	struct nl_sock *sock;
	int rc = link_open(&sock);

	if (!rc)
		return sock;
	cni_need_modules(REPLY_MODULE);
	reply_error(REPLY_MODULE, "no RDMA netlink: %s; run \"modprobe ib_core\" on the node",
		    strerror(-rc));
}

/* 0 if this process is in the namespace, or -ENOENT */
static int cni_enter(const char *netns)
{
	int fd = open(netns, O_RDONLY | O_CLOEXEC), rc = 0;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return -ENOENT;
	if (fd < 0)
		reply_error(REPLY_ENVIRONMENT,
			    "CNI_NETNS: %s cannot be opened: %s; the runtime must call cairn-cni as root of the node",
			    netns, strerror(errno));
	if (setns(fd, CLONE_NEWNET)) {
		if (errno == EPERM)
			reply_error(REPLY_PERMISSION,
				    "this process may not enter %s: the runtime must call cairn-cni as root of the node",
				    netns);
		/* "ip netns delete" leaves an ordinary file while it is being removed */
		rc = -ENOENT;
	}
	close(fd);
	return rc;
}

static void cni_need_netns(const char *netns)
{
	if (cni_enter(netns))
		reply_error(REPLY_ENVIRONMENT,
			    "CNI_NETNS: %s is no network namespace: the runtime must name that of the pod",
			    netns);
}

/* --- ADD ------------------------------------------------------------------ */

/* is there a device of this name on the interface? */
static bool cni_is_there(struct nl_sock *sock, const struct call *call, const char *name,
			 uint32_t *index)
{
	char netdev[IFNAMSIZ];
	int rc = link_find(sock, name, index);

	if (!rc)
		rc = link_netdev(sock, *index, netdev);
	if (rc == -ENODEV)
		return false;
	if (rc)
		cni_failed("the RDMA devices cannot be listed", rc);
	if (strcmp(netdev, call->ifname))
		reply_error(REPLY_LINK,
			    "there is a device %s already, but not on %s of this pod: run \"rdma link delete %s\"",
			    name, call->ifname, name);
	return true;
}

static _Noreturn void cni_refused(const struct call *call, const char *name, int err)
{
	switch (err) {
	case EPERM:
	case EACCES:
		reply_error(REPLY_PERMISSION,
			    "this process may not make RDMA links: the runtime must call cairn-cni as root of the node");
	case ENODEV:
		reply_error(REPLY_CONFIG,
			    "the pod has no interface %s: put cairn-cni behind the plugin that makes it, as bridge",
			    call->ifname);
	case EEXIST:
		reply_error(REPLY_LINK,
			    "%s has an RDMA device already: remove cairn-cni from one of the pod's networks, or the device by \"rdma link delete\"",
			    call->ifname);
	case EINVAL:
		if (cni_is_loaded("cairn"))
			reply_error(REPLY_LINK,
				    "%s cannot have an RDMA device: it must carry Ethernet or IP and must be no VLAN; the kernel log says why",
				    call->ifname);
		cni_need_modules(REPLY_MODULE);
		reply_error(REPLY_MODULE,
			    "the kernel did not load the module cairn: run \"modprobe cairn\" on the node, which says why");
	default:
		reply_error(REPLY_LINK, "no device %s on %s: %s; run cairn_doctor on the node", name,
			    call->ifname, strerror(err));
	}
}

static void cni_need_uverbs(struct nl_sock *sock, const char *name, uint32_t index,
			    enum reply_code code)
{
	if (!link_chardev(sock, index, "uverbs"))
		return;
	if (code == REPLY_MODULE)
		link_delete(sock, index);
	cni_need_modules(code);
	reply_error(code, "%s has no node in /dev/infiniband: run \"modprobe ib_uverbs\" on the node",
		    name);
}

/* Run "cairn_set NAME fabric=FABRIC" in this namespace. Its output is no part of the result. */
static int cni_run_set(const char *name, const char *fabric)
{
	char setting[sizeof("fabric=") + CALL_FABRIC_MAX];
	int status, null;
	pid_t child;

	snprintf(setting, sizeof(setting), "fabric=%s", fabric);
	child = fork();
	if (!child) {
		null = open("/dev/null", O_RDWR);
		if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
			_exit(127);
		execlp("cairn_set", "cairn_set", name, setting, (char *)NULL);
		_exit(errno == ENOENT ? 126 : 127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return 127;
	return WEXITSTATUS(status);
}

/* Without its fabric a pod would work, but slowly and without a sign. So ADD fails. */
static void cni_join_fabric(const struct call *call, struct nl_sock *sock, const char *name,
			    uint32_t index)
{
	int status;

	if (!call->fabric)
		return;
	status = cni_run_set(name, call->fabric);
	if (!status)
		return;
	link_delete(sock, index);
	if (status == 126)
		reply_error(REPLY_CONFIG,
			    "a fabric needs cairn_set, which is not in PATH: install cairn-tools on the node");
	reply_error(REPLY_LINK,
		    "%s was not put into the fabric %s: run \"cairn_set %s fabric=%s\" on the node, which says why",
		    name, call->fabric, name, call->fabric);
}

static void cni_add(const struct call *call)
{
	json_object *result = call_prev_result(call);
	struct nl_sock *sock;
	char name[CNI_NAME];
	uint32_t index;
	int rc;

	cni_need_netns(call->netns);
	sock = cni_open();
	cni_name_of(name, call);
	if (!cni_is_there(sock, call, name, &index)) {
		rc = link_add(sock, name, call->ifname);
		if (rc)
			cni_refused(call, name, -rc);
		if (!cni_is_there(sock, call, name, &index))
			reply_error(REPLY_LINK, "%s went away while it was made: start the pod again",
				    name);
	}
	cni_need_uverbs(sock, name, index, REPLY_MODULE);
	cni_join_fabric(call, sock, name, index);
	/* programs that use no rdma_cm need no rdma_ucm */
	link_chardev(sock, 0, "rdma_cm");
	reply_result(result);
}

/* --- DEL, CHECK ----------------------------------------------------------- */

static void cni_delete(struct nl_sock *sock, const char *name, uint32_t index)
{
	int rc = link_delete(sock, index);

	if (rc == -EPERM || rc == -EACCES)
		reply_error(REPLY_PERMISSION,
			    "this process may not remove %s: the runtime must call cairn-cni as root of the node",
			    name);
	if (rc && rc != -ENODEV)
		reply_error(REPLY_LINK,
			    "%s cannot be removed: %s; run \"rdma link delete %s\" on the node", name,
			    strerror(-rc), name);
}

/*
 * The device of a namespace that has no name any more is seen from here in the mode "shared";
 * in the other mode it ends with its interface.
 */
static void cni_del(const struct call *call)
{
	struct nl_sock *sock;
	char name[CNI_NAME];
	uint32_t index;
	int rc;

	if (call->netns)
		cni_enter(call->netns);
	rc = link_open(&sock);
	/* without ib_core there is no device */
	if (rc == -EPROTONOSUPPORT)
		return;
	if (rc)
		cni_failed("no RDMA netlink", rc);
	cni_name_of(name, call);
	rc = link_find(sock, name, &index);
	if (rc && rc != -ENODEV)
		cni_failed("the RDMA devices cannot be listed", rc);
	if (!rc)
		cni_delete(sock, name, index);
}

static void cni_check(const struct call *call)
{
	struct nl_sock *sock;
	char name[CNI_NAME];
	uint32_t index;

	call_prev_result(call);
	cni_need_netns(call->netns);
	sock = cni_open();
	cni_name_of(name, call);
	if (!cni_is_there(sock, call, name, &index))
		reply_error(REPLY_CHECK, "%s has no RDMA device %s any more: start the pod again",
			    call->ifname, name);
	cni_need_uverbs(sock, name, index, REPLY_CHECK);
}

/* --- GC ------------------------------------------------------------------- */

struct cni_garbage {
	const struct call *call;
	json_object *valid;
	char prefix[CNI_NAME];
	struct link *found;
	size_t count;
};

static const char *cni_member(json_object *object, const char *name)
{
	json_object *value = NULL;

	json_object_object_get_ex(object, name, &value);
	if (!json_object_is_type(value, json_type_string))
		reply_error(REPLY_CONFIG,
			    "an element of cni.dev/valid-attachments has no %s: the runtime must give it with GC",
			    name);
	return json_object_get_string(value);
}

static bool cni_is_valid(const struct cni_garbage *garbage, const char *device)
{
	char name[CNI_NAME];
	json_object *one;
	size_t i;

	for (i = 0; i < json_object_array_length(garbage->valid); i++) {
		one = json_object_array_get_idx(garbage->valid, i);
		cni_name(name, garbage->call->network, cni_member(one, "containerID"),
			 cni_member(one, "ifname"));
		if (!strcmp(name, device))
			return true;
	}
	return false;
}

static void cni_collect(const struct link *link, void *arg)
{
	struct cni_garbage *garbage = arg;

	if (strncmp(link->name, garbage->prefix, strlen(garbage->prefix)) ||
	    cni_is_valid(garbage, link->name))
		return;
	garbage->found = reallocarray(garbage->found, garbage->count + 1, sizeof(*link));
	if (!garbage->found)
		reply_error(REPLY_IO, "no memory for the devices that must go");
	garbage->found[garbage->count++] = *link;
}

static void cni_gc(const struct call *call)
{
	struct cni_garbage garbage = { .call = call };
	struct nl_sock *sock;
	int rc = link_open(&sock);

	if (rc == -EPROTONOSUPPORT)
		return;
	if (rc)
		cni_failed("no RDMA netlink", rc);
	if (!json_object_object_get_ex(call->config, "cni.dev/valid-attachments", &garbage.valid) ||
	    !json_object_is_type(garbage.valid, json_type_array))
		reply_error(REPLY_CONFIG,
			    "the configuration has no list cni.dev/valid-attachments: the runtime must give it with GC");
	cni_prefix(garbage.prefix, call->network);
	rc = link_each(sock, cni_collect, &garbage);
	if (rc)
		cni_failed("the RDMA devices cannot be listed", rc);
	/* each one once: a device of another driver stays, and a pod may make new ones */
	while (garbage.count--)
		cni_delete(sock, garbage.found[garbage.count].name,
			   garbage.found[garbage.count].index);
	free(garbage.found);
}

/* --- STATUS, VERSION ------------------------------------------------------ */

static void cni_status(void)
{
	struct nl_sock *sock;
	int rc;

	cni_need_modules(REPLY_UNAVAILABLE);
	rc = link_open(&sock);
	if (rc)
		reply_error(REPLY_UNAVAILABLE,
			    "no RDMA netlink: %s; run \"modprobe ib_core\" on the node",
			    strerror(-rc));
}

static void cni_versions(void)
{
	json_object *result = json_object_new_object(), *list = json_object_new_array();
	unsigned int i;

	for (i = 0; call_versions[i]; i++)
		json_object_array_add(list, json_object_new_string(call_versions[i]));
	json_object_object_add(result, "supportedVersions", list);
	reply_result(result);
}

int main(void)
{
	struct call call;

	call_read(&call);
	switch (call.command) {
	case CALL_ADD:
		cni_add(&call);
		break;
	case CALL_DEL:
		cni_del(&call);
		break;
	case CALL_CHECK:
		cni_check(&call);
		break;
	case CALL_GC:
		cni_gc(&call);
		break;
	case CALL_STATUS:
		cni_status();
		break;
	case CALL_VERSION:
		cni_versions();
		break;
	}
	return 0;
}
