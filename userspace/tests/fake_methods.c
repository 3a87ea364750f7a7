// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "comp_cntr_abi.h"
#include "fake.h"
#include "fake_methods.h"

int __wrap_ioctl(int fd, unsigned long request, ...);

static int take_ioctl_error(void)
{
	int err = fake.ioctl_errors[0];

	memmove(fake.ioctl_errors, fake.ioctl_errors + 1,
		sizeof(fake.ioctl_errors) - sizeof(fake.ioctl_errors[0]));
	fake.ioctl_errors[3] = 0;
	return err;
}

static void method_doorbell(const struct ib_uverbs_attr *attr)
{
	const void *data = attr->len > sizeof(attr->data) ?
				   (const void *)(uintptr_t)attr->data :
				   &attr->data;
	uint32_t count = attr->len / sizeof(fake.doorbell);

	assert(attr->attr_id == CAIRN_ATTR_DOORBELL && count &&
	       count <= CAIRN_MAX_DOORBELLS &&
	       attr->len == count * sizeof(fake.doorbell));
	fake.doorbells++;
	fake.rung += count;
	for (uint32_t i = 0; i < count; i++) {
		memcpy(&fake.doorbell,
		       (const char *)data + i * sizeof(fake.doorbell),
		       sizeof(fake.doorbell));
		if (fake.on_doorbell)
			fake.on_doorbell(&fake.doorbell);
	}
}

static int method_persist_done(const struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *attr = hdr->attrs;
	size_t size = sizeof(fake.persist_done[0]);

	assert(attr->attr_id == CAIRN_ATTR_PERSIST_DONE && attr->len &&
	       attr->len <= sizeof(fake.persist_done) && !(attr->len % size));
	fake.persist_dones++;
	fake.persist_answers = attr->len / size;
	memcpy(fake.persist_done, (void *)(uintptr_t)attr->data, attr->len);
	if (fake.on_persist_done)
		fake.on_persist_done(fake.persist_done, fake.persist_answers);
	if (hdr->num_attrs == 1)
		return 0;
	assert(attr[1].attr_id == CAIRN_ATTR_PERSIST_DONE_REFUSED &&
	       attr[1].len == sizeof(fake.persist_refused));
	memcpy((void *)(uintptr_t)attr[1].data, &fake.persist_refused,
	       sizeof(fake.persist_refused));
	if (!fake.persist_refused)
		return 0;
	errno = ENOENT;
	return -1;
}

static void method_set_idle(const struct ib_uverbs_attr *attr)
{
	assert(attr->attr_id == CAIRN_ATTR_SET_IDLE &&
	       attr->len == sizeof(fake.set_idle));
	memcpy(&fake.set_idle, &attr->data, sizeof(fake.set_idle));
}

static void method_set_loopback(const struct ib_uverbs_attr *attr)
{
	assert(attr->attr_id == CAIRN_ATTR_SET_LOOPBACK &&
	       attr->len == sizeof(fake.set_loopback));
	memcpy(&fake.set_loopback, &attr->data, sizeof(fake.set_loopback));
}

static void method_set_fabric(const struct ib_uverbs_attr *attr)
{
	assert(attr->attr_id == CAIRN_ATTR_SET_FABRIC &&
	       attr->len == sizeof(fake.set_fabric));
	memcpy(&fake.set_fabric, (void *)(uintptr_t)attr->data,
	       sizeof(fake.set_fabric));
}

static void method_set_capture(const struct ib_uverbs_attr *attr)
{
	assert(attr->attr_id == CAIRN_ATTR_SET_CAPTURE &&
	       attr->len == sizeof(fake.set_capture));
	memcpy(&fake.set_capture, &attr->data, sizeof(fake.set_capture));
}

static void method_set_persistent(const struct ib_uverbs_attr *attr)
{
	assert(attr->attr_id == CAIRN_ATTR_SET_PERSISTENT &&
	       attr->len == sizeof(fake.set_persistent));
	memcpy(&fake.set_persistent, &attr->data, sizeof(fake.set_persistent));
}

static void method_flush_limit(const struct ib_uverbs_attr *attrs)
{
	assert(attrs[0].attr_id == CAIRN_ATTR_FLUSH_LIMIT_MR && !attrs[0].len);
	assert(attrs[1].attr_id == CAIRN_ATTR_FLUSH_LIMIT_IN &&
	       attrs[1].len == sizeof(fake.flush_limit));
	fake.flush_limit_mr = attrs[0].data;
	memcpy(&fake.flush_limit, &attrs[1].data, sizeof(fake.flush_limit));
}

static void method_tuning(const struct ib_uverbs_ioctl_hdr *hdr)
{
	if (hdr->method_id == CAIRN_METHOD_SET_FLUSH_LIMIT) {
		assert(hdr->num_attrs == 2);
		method_flush_limit(hdr->attrs);
		return;
	}
	switch (hdr->method_id) {
	case CAIRN_METHOD_SET_LOOPBACK:
		method_set_loopback(&hdr->attrs[0]);
		break;
	case CAIRN_METHOD_SET_FABRIC:
		method_set_fabric(&hdr->attrs[0]);
		break;
	case CAIRN_METHOD_SET_CAPTURE:
		method_set_capture(&hdr->attrs[0]);
		break;
	case CAIRN_METHOD_SET_PERSISTENT:
		method_set_persistent(&hdr->attrs[0]);
		break;
	default:
		assert(hdr->method_id == CAIRN_METHOD_SET_IDLE);
		method_set_idle(&hdr->attrs[0]);
	}
}

static void fake_answer(const struct ib_uverbs_attr *attr, const void *data,
			size_t size)
{
	assert(attr->len == size);
	memcpy((void *)(uintptr_t)attr->data, data, size);
}

static void method_peer(const struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *attrs = hdr->attrs;

	assert(hdr->method_id == CAIRN_METHOD_QUERY_PEER &&
	       hdr->num_attrs == 3);
	assert(attrs[0].attr_id == CAIRN_ATTR_QUERY_PEER_QP && !attrs[0].len);
	assert(attrs[1].attr_id == CAIRN_ATTR_QUERY_PEER_IN &&
	       attrs[1].len == sizeof(fake.query_peer));
	assert(attrs[2].attr_id == CAIRN_ATTR_QUERY_PEER_OUT);
	fake.method_qp = attrs[0].data;
	memcpy(&fake.query_peer, &attrs[1].data, sizeof(fake.query_peer));
	fake_answer(&attrs[2], &fake.peer_caps, sizeof(fake.peer_caps));
}

static void method_cq(const struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *attr = &hdr->attrs[0];

	assert(hdr->num_attrs == 1);
	if (hdr->method_id == CAIRN_METHOD_YIELD) {
		assert(attr->attr_id == CAIRN_ATTR_YIELD_US &&
		       attr->len == sizeof(fake.yield_us));
		memcpy(&fake.yield_us, &attr->data, sizeof(fake.yield_us));
		return;
	}
	assert(hdr->method_id == CAIRN_METHOD_LOOK_CQ);
	assert(attr->attr_id == CAIRN_ATTR_LOOK_CQ && !attr->len);
	fake.looked_at = attr->data;
	fake.looks++;
}

/* A rule of a process is kept as it is. */
static void method_fault(const struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *attr = &hdr->attrs[0];
	struct cairn_fault_state *next = &fake.faults.rules[fake.faults.num];

	switch (hdr->method_id) {
	case CAIRN_METHOD_ADD_FAULT:
		assert(attr->attr_id == CAIRN_ATTR_ADD_FAULT_RULE &&
		       attr->len == sizeof(next->rule));
		memcpy(&next->rule, (void *)(uintptr_t)attr->data, sizeof(next->rule));
		fake.faults.num++;
		break;
	case CAIRN_METHOD_LIST_FAULTS:
		assert(attr->attr_id == CAIRN_ATTR_LIST_FAULTS_OUT);
		fake_answer(attr, &fake.faults, sizeof(fake.faults));
		break;
	default:
		assert(hdr->method_id == CAIRN_METHOD_CLEAR_FAULTS);
		fake.faults.num = 0;
	}
}

static void method_query_device(const struct ib_uverbs_attr *attr)
{
	assert(attr->attr_id == CAIRN_ATTR_QUERY_DEVICE_CAPS &&
	       attr->len == sizeof(fake.caps));
	memcpy((void *)(uintptr_t)attr->data, &fake.caps, sizeof(fake.caps));
}

static void method_modify_cc(const struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *in = &hdr->attrs[0];

	assert(in->attr_id == CAIRN_ATTR_MODIFY_CC_IN &&
	       in->len == sizeof(fake.cc));
	memcpy(&fake.cc, (void *)(uintptr_t)in->data, sizeof(fake.cc));
	fake.method_qp = 0;
	if (hdr->num_attrs == 1)
		return;
	assert(hdr->attrs[1].attr_id == CAIRN_ATTR_MODIFY_CC_QP);
	fake.method_qp = hdr->attrs[1].data;
}

static uint64_t cntr_in(const struct ib_uverbs_attr *attr, unsigned int id,
			size_t size)
{
	uint64_t value = 0;

	assert(attr->attr_id == id && attr->len == size &&
	       attr->flags == UVERBS_ATTR_F_MANDATORY);
	memcpy(&value, &attr->data, size ? size : sizeof(value));
	return value;
}

static void cntr_modify(const struct ib_uverbs_attr *attrs)
{
	uint64_t entry = cntr_in(&attrs[1], COMP_CNTR_ATTR_ENTRY, 8);
	uint64_t op = cntr_in(&attrs[2], COMP_CNTR_ATTR_MODIFY_OP, 8);
	uint64_t value = cntr_in(&attrs[3], COMP_CNTR_ATTR_MODIFY_VALUE, 8);

	assert(entry < 2 && op < 2);
	fake.cntr[entry] = op == COMP_CNTR_INC ? fake.cntr[entry] + value : value;
}

static void method_comp_cntr(struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *attrs = hdr->attrs;

	if (hdr->method_id == COMP_CNTR_METHOD_CREATE) {
		assert(hdr->num_attrs == 1);
		cntr_in(&attrs[0], COMP_CNTR_ATTR_HANDLE, 0);
		attrs[0].data = FAKE_CNTR;
		fake.objects++;
		return;
	}
	assert(cntr_in(&attrs[0], COMP_CNTR_ATTR_HANDLE, 0) == FAKE_CNTR);
	switch (hdr->method_id) {
	case COMP_CNTR_METHOD_DESTROY:
		assert(hdr->num_attrs == 1);
		fake.objects--;
		break;
	case COMP_CNTR_METHOD_MODIFY:
		assert(hdr->num_attrs == 4);
		cntr_modify(attrs);
		break;
	default:
		assert(hdr->method_id == COMP_CNTR_METHOD_READ &&
		       hdr->num_attrs == 3 &&
		       attrs[2].attr_id == COMP_CNTR_ATTR_READ_VALUE);
		fake_answer(&attrs[2],
			    &fake.cntr[cntr_in(&attrs[1], COMP_CNTR_ATTR_ENTRY, 8)],
			    sizeof(fake.cntr[0]));
	}
}

static void method_cntr_attach(const struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *attrs = hdr->attrs;

	assert(hdr->method_id == COMP_CNTR_METHOD_ATTACH && hdr->num_attrs == 3);
	fake.cntr_qp = (uint32_t)cntr_in(&attrs[0], COMP_CNTR_ATTR_ATTACH_QP, 0);
	assert(cntr_in(&attrs[1], COMP_CNTR_ATTR_ATTACH_CNTR, 0) == FAKE_CNTR);
	fake.cntr_ops = (uint32_t)cntr_in(&attrs[2], COMP_CNTR_ATTR_ATTACH_OPS, 4);
}

static void method_cntr_caps(const struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *attrs = hdr->attrs;

	assert(hdr->method_id == COMP_CNTR_METHOD_CAPS && hdr->num_attrs == 3 &&
	       attrs[0].attr_id == COMP_CNTR_ATTR_CAPS_MAX &&
	       attrs[1].attr_id == COMP_CNTR_ATTR_CAPS_VALUE &&
	       attrs[2].attr_id == COMP_CNTR_ATTR_CAPS_OPS);
	fake_answer(&attrs[0], &(uint32_t){ 5 }, sizeof(uint32_t));
	fake_answer(&attrs[1], &(uint64_t){ 1ull << 40 }, sizeof(uint64_t));
	fake_answer(&attrs[2], &(uint32_t){ COMP_CNTR_OPS }, sizeof(uint32_t));
}

/* Methods of objects that are not the driver's own. Return: was it one? */
static bool method_of_core(struct ib_uverbs_ioctl_hdr *hdr)
{
	switch (hdr->object_id) {
	case COMP_CNTR_OBJECT:
		method_comp_cntr(hdr);
		return true;
	case UVERBS_OBJECT_QP:
		method_cntr_attach(hdr);
		return true;
	case UVERBS_OBJECT_DEVICE:
		method_cntr_caps(hdr);
		return true;
	}
	return false;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct ib_uverbs_ioctl_hdr *hdr;
	va_list ap;
	int err;

	va_start(ap, request);
	hdr = va_arg(ap, void *);
	va_end(ap);
	assert(fake_is_device(fd) && request == RDMA_VERBS_IOCTL);
	fake.ioctl_fd = fd;
	assert(hdr->length <= sizeof(fake.ioctl_bytes));
	memcpy(fake.ioctl_bytes, hdr, hdr->length);
	err = take_ioctl_error();
	if (err) {
		errno = err;
		return -1;
	}
	if (hdr->object_id == CAIRN_OBJECT_DEVICE &&
	    hdr->method_id == CAIRN_METHOD_PREPARE_RING)
		return fake_prepare(hdr);
	assert(hdr->driver_id == CAIRN_DRIVER_ID);
	if (method_of_core(hdr))
		return 0;
	if (hdr->object_id == CAIRN_OBJECT_TUNING) {
		method_tuning(hdr);
		return 0;
	}
	if (hdr->object_id == CAIRN_OBJECT_PEER) {
		method_peer(hdr);
		return 0;
	}
	if (hdr->object_id == CAIRN_OBJECT_FAULT) {
		method_fault(hdr);
		return 0;
	}
	if (hdr->object_id == CAIRN_OBJECT_CQ) {
		method_cq(hdr);
		return 0;
	}
	assert(hdr->object_id == CAIRN_OBJECT_DEVICE);
	if (hdr->method_id == CAIRN_METHOD_DEREG_MR)
		return fake_release(hdr);
	if (hdr->method_id == CAIRN_METHOD_PERSIST_DONE)
		return method_persist_done(hdr);
	assert(hdr->num_attrs == 1 || hdr->attrs[1].len == 0);
	assert(hdr->attrs[0].flags == UVERBS_ATTR_F_MANDATORY);
	switch (hdr->method_id) {
	case CAIRN_METHOD_DOORBELL:
		method_doorbell(&hdr->attrs[0]);
		break;
	case CAIRN_METHOD_QUERY_DEVICE:
		method_query_device(&hdr->attrs[0]);
		break;
	case CAIRN_METHOD_QUERY_RATE:
		assert(hdr->num_attrs == 2 &&
		       hdr->attrs[1].attr_id == CAIRN_ATTR_QUERY_RATE_QP);
		fake.method_qp = hdr->attrs[1].data;
		fake_answer(&hdr->attrs[0], &fake.qp_rate,
			    sizeof(fake.qp_rate));
		break;
	case CAIRN_METHOD_QUERY_CC:
		fake_answer(&hdr->attrs[0], &fake.cc, sizeof(fake.cc));
		break;
	case CAIRN_METHOD_MODIFY_CC:
		method_modify_cc(hdr);
		break;
	default:
		assert(!"a known method");
	}
	return 0;
}
