# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Structures and functions of libcairn, libibverbs and librdmacm.

Pointers are integers. userspace/tests/test_python.sh compares the structures with the
headers: LAYOUTS names the C type of each, and the fields have the names of C.
"""
from __future__ import annotations

import ctypes
import errno
import os
from ctypes import (POINTER, c_char, c_char_p, c_int, c_int32, c_size_t, c_uint8, c_uint16,
                    c_uint32, c_uint64, c_void_p)
from typing import Any, Callable

verbs = ctypes.CDLL('libibverbs.so.1', use_errno=True)
rdma = ctypes.CDLL('librdmacm.so.1', use_errno=True)
cairn = ctypes.CDLL('libcairn.so.1', use_errno=True)


class Sge(ctypes.Structure):
    _fields_ = [('addr', c_uint64), ('length', c_uint32), ('lkey', c_uint32)]


class Mr(ctypes.Structure):
    _fields_ = [('context', c_void_p), ('pd', c_void_p), ('addr', c_void_p),
                ('length', c_size_t), ('handle', c_uint32), ('lkey', c_uint32),
                ('rkey', c_uint32)]


class Channel(ctypes.Structure):
    _fields_ = [('context', c_void_p), ('fd', c_int), ('refcnt', c_int)]


class QpCap(ctypes.Structure):
    _fields_ = [('max_send_wr', c_uint32), ('max_recv_wr', c_uint32),
                ('max_send_sge', c_uint32), ('max_recv_sge', c_uint32),
                ('max_inline_data', c_uint32)]


class QpInit(ctypes.Structure):
    _fields_ = [('qp_context', c_void_p), ('send_cq', c_void_p), ('recv_cq', c_void_p),
                ('srq', c_void_p), ('cap', QpCap), ('qp_type', c_int), ('sq_sig_all', c_int)]


class CmChannel(ctypes.Structure):
    _fields_ = [('fd', c_int)]


class CmId(ctypes.Structure):
    """Its beginning."""
    _fields_ = [('verbs', c_void_p), ('channel', c_void_p), ('context', c_void_p),
                ('qp', c_void_p)]


class ConnParam(ctypes.Structure):
    _fields_ = [('private_data', c_void_p), ('private_data_len', c_uint8),
                ('responder_resources', c_uint8), ('initiator_depth', c_uint8),
                ('flow_control', c_uint8), ('retry_count', c_uint8),
                ('rnr_retry_count', c_uint8), ('srq', c_uint8), ('qp_num', c_uint32)]


class CmEvent(ctypes.Structure):
    """Its beginning."""
    _fields_ = [('id', c_void_p), ('listen_id', c_void_p), ('event', c_int),
                ('status', c_int), ('param', ConnParam)]


class AddrInfo(ctypes.Structure):
    _fields_ = [('ai_flags', c_int), ('ai_family', c_int), ('ai_qp_type', c_int),
                ('ai_port_space', c_int), ('ai_src_len', c_uint32), ('ai_dst_len', c_uint32),
                ('ai_src_addr', c_void_p), ('ai_dst_addr', c_void_p),
                ('ai_src_canonname', c_void_p), ('ai_dst_canonname', c_void_p),
                ('ai_route_len', c_size_t), ('ai_route', c_void_p),
                ('ai_connect_len', c_size_t), ('ai_connect', c_void_p), ('ai_next', c_void_p)]


class SockAddr(ctypes.Structure):
    """sockaddr_in."""
    _fields_ = [('sin_family', c_uint16), ('sin_port', c_uint8 * 2), ('sin_addr', c_uint8 * 4),
                ('sin_zero', c_uint8 * 8)]


class MrAttr(ctypes.Structure):
    _fields_ = [('comp_mask', c_uint64), ('persist_domain', c_uint32),
                ('flush_limit_ms', c_uint32)]


class GroupDest(ctypes.Structure):
    _fields_ = [('remote_addr', c_uint64), ('rkey', c_uint32), ('lkey', c_uint32)]


class GroupWr(ctypes.Structure):
    _fields_ = [('wr_id', c_uint64), ('sg_list', POINTER(Sge)), ('num_sge', c_int),
                ('send_flags', c_uint32), ('quorum', c_uint32), ('durability', c_uint32),
                ('dest', POINTER(GroupDest))]


class GroupWc(ctypes.Structure):
    _fields_ = [('kind', c_uint32), ('durable', c_uint32), ('wr_id', c_uint64),
                ('target', c_uint32), ('status', c_uint32), ('vendor_err', c_uint32),
                ('durability', c_uint32)]


class ChainRange(ctypes.Structure):
    _fields_ = [('va', c_uint64), ('length', c_uint64)]


CHAIN_FLUSH = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(ChainRange), c_uint32)


class ChainAttr(ctypes.Structure):
    _fields_ = [('qp', c_void_p), ('mr', c_void_p), ('depth', c_uint32), ('policy', c_uint32),
                ('durability', c_uint32), ('deadline_ms', c_uint32), ('flush', CHAIN_FLUSH),
                ('arg', c_void_p)]


class ChainEvent(ctypes.Structure):
    _fields_ = [('kind', c_uint32), ('status', c_uint32), ('vendor_err', c_uint32),
                ('error', c_int32)]


class Fault(ctypes.Structure):
    _fields_ = [('seen', c_uint64), ('hits', c_uint64), ('rule', c_char * 512)]


class LogOptions(ctypes.Structure):
    _fields_ = [('addresses', POINTER(c_char_p)), ('ports', POINTER(c_char_p)),
                ('num', c_uint32), ('flags', c_uint32), ('quorum', c_uint32),
                ('deadline_ms', c_uint32), ('emulated', c_uint32), ('largest', c_uint32)]


class LogState(ctypes.Structure):
    _fields_ = [('next', c_uint64), ('durable', c_uint64), ('left', c_uint32),
                ('quorum', c_uint32), ('error', c_char_p)]


class LogRecord(ctypes.Structure):
    _fields_ = [('seq', c_uint64), ('epoch', c_uint64), ('data', c_void_p),
                ('length', c_uint64)]


# Apart from BEGINNINGS, each has the size of the C type.
LAYOUTS = {
    Sge: 'struct ibv_sge', Mr: 'struct ibv_mr', Channel: 'struct ibv_comp_channel',
    QpCap: 'struct ibv_qp_cap', QpInit: 'struct ibv_qp_init_attr',
    CmChannel: 'struct rdma_event_channel', CmId: 'struct rdma_cm_id',
    ConnParam: 'struct rdma_conn_param', CmEvent: 'struct rdma_cm_event',
    AddrInfo: 'struct rdma_addrinfo', SockAddr: 'struct sockaddr_in',
    MrAttr: 'struct cairndv_mr_attr', GroupDest: 'struct cairndv_group_dest',
    GroupWr: 'struct cairndv_group_wr', GroupWc: 'struct cairndv_group_wc',
    ChainRange: 'struct cairndv_chain_range', ChainAttr: 'struct cairndv_chain_attr',
    ChainEvent: 'struct cairndv_chain_event', Fault: 'struct cairndv_fault',
    LogOptions: 'struct log_python_options',
    LogState: 'struct log_python_state', LogRecord: 'struct log_python_record',
}
BEGINNINGS = (CmId, CmEvent)

# their values are compared, too
CONSTANTS = {
    'IBV_QPT_RC': 2, 'IBV_ACCESS_LOCAL_WRITE': 1, 'IBV_ACCESS_REMOTE_WRITE': 2,
    'RDMA_PS_TCP': 0x106,
    'RDMA_CM_EVENT_ADDR_RESOLVED': 0, 'RDMA_CM_EVENT_ADDR_ERROR': 1,
    'RDMA_CM_EVENT_ROUTE_RESOLVED': 2, 'RDMA_CM_EVENT_CONNECT_REQUEST': 4,
    'RDMA_CM_EVENT_REJECTED': 8, 'RDMA_CM_EVENT_ESTABLISHED': 9,
    'RDMA_CM_EVENT_DISCONNECTED': 10, 'RDMA_CM_EVENT_DEVICE_REMOVAL': 11,
    'CAIRNDV_ACCESS_PERSISTENT': 1 << 16, 'CAIRNDV_ACCESS_PERSISTENT_HOST': 1 << 17,
    'CAIRNDV_ACCESS_PERSISTENT_EMULATED': 1 << 18,
    'CAIRNDV_DOMAIN_PMEM': 1, 'CAIRNDV_DOMAIN_HOST': 2, 'CAIRNDV_DOMAIN_EMULATED': 4,
    'CAIRNDV_DURABILITY_UNKNOWN': 0, 'CAIRNDV_DURABILITY_EADR': 1,
    'CAIRNDV_DURABILITY_ADR': 2, 'CAIRNDV_DURABILITY_HOST': 3,
    'CAIRNDV_DURABILITY_EMULATED': 4,
    'CAIRNDV_GROUP_DURABLE': 1, 'CAIRNDV_GROUP_FAILED': 2, 'CAIRNDV_GROUP_TARGET': 3,
    'CAIRNDV_GROUP_MAX': 64, 'CAIRNDV_CHAIN_FAILED': 3, 'CAIRNDV_FAULT_RULES': 32,
    'CAIRNDV_FAULT_TEXT': 512,
    'LOG_ASK_CREATE': 2, 'LOG_ASK_FILL': 4, 'LOG_ASK_TAKEOVER': 8, 'LOG_MAX_TARGETS': 4,
}


def function(lib: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    found: Any = getattr(lib, name)
    found.restype = result
    found.argtypes = arguments
    return found  # type: ignore[no-any-return]


ibv_get_device_list = function(verbs, 'ibv_get_device_list', POINTER(c_void_p), POINTER(c_int))
ibv_free_device_list = function(verbs, 'ibv_free_device_list', None, POINTER(c_void_p))
ibv_get_device_name = function(verbs, 'ibv_get_device_name', c_char_p, c_void_p)
ibv_open_device = function(verbs, 'ibv_open_device', c_void_p, c_void_p)
ibv_close_device = function(verbs, 'ibv_close_device', c_int, c_void_p)
ibv_alloc_pd = function(verbs, 'ibv_alloc_pd', c_void_p, c_void_p)
ibv_dealloc_pd = function(verbs, 'ibv_dealloc_pd', c_int, c_void_p)
ibv_reg_mr = function(verbs, 'ibv_reg_mr', c_void_p, c_void_p, c_void_p, c_size_t, c_int)
ibv_dereg_mr = function(verbs, 'ibv_dereg_mr', c_int, c_void_p)
ibv_create_comp_channel = function(verbs, 'ibv_create_comp_channel', c_void_p, c_void_p)
ibv_destroy_comp_channel = function(verbs, 'ibv_destroy_comp_channel', c_int, c_void_p)
ibv_create_cq = function(verbs, 'ibv_create_cq', c_void_p, c_void_p, c_int, c_void_p, c_void_p,
                         c_int)
ibv_destroy_cq = function(verbs, 'ibv_destroy_cq', c_int, c_void_p)
ibv_get_cq_event = function(verbs, 'ibv_get_cq_event', c_int, c_void_p, POINTER(c_void_p),
                            POINTER(c_void_p))
ibv_ack_cq_events = function(verbs, 'ibv_ack_cq_events', None, c_void_p, c_uint32)
ibv_wc_status_str = function(verbs, 'ibv_wc_status_str', c_char_p, c_int)

rdma_create_event_channel = function(rdma, 'rdma_create_event_channel', c_void_p)
rdma_destroy_event_channel = function(rdma, 'rdma_destroy_event_channel', None, c_void_p)
rdma_create_id = function(rdma, 'rdma_create_id', c_int, c_void_p, POINTER(c_void_p), c_void_p,
                          c_int)
rdma_destroy_id = function(rdma, 'rdma_destroy_id', c_int, c_void_p)
rdma_getaddrinfo = function(rdma, 'rdma_getaddrinfo', c_int, c_char_p, c_char_p,
                            POINTER(AddrInfo), POINTER(POINTER(AddrInfo)))
rdma_freeaddrinfo = function(rdma, 'rdma_freeaddrinfo', None, POINTER(AddrInfo))
rdma_resolve_addr = function(rdma, 'rdma_resolve_addr', c_int, c_void_p, c_void_p, c_void_p,
                             c_int)
rdma_resolve_route = function(rdma, 'rdma_resolve_route', c_int, c_void_p, c_int)
rdma_bind_addr = function(rdma, 'rdma_bind_addr', c_int, c_void_p, c_void_p)
rdma_listen = function(rdma, 'rdma_listen', c_int, c_void_p, c_int)
rdma_get_src_port = function(rdma, 'rdma_get_src_port', c_uint16, c_void_p)
rdma_create_qp = function(rdma, 'rdma_create_qp', c_int, c_void_p, c_void_p, POINTER(QpInit))
rdma_destroy_qp = function(rdma, 'rdma_destroy_qp', None, c_void_p)
rdma_connect = function(rdma, 'rdma_connect', c_int, c_void_p, POINTER(ConnParam))
rdma_accept = function(rdma, 'rdma_accept', c_int, c_void_p, POINTER(ConnParam))
rdma_reject = function(rdma, 'rdma_reject', c_int, c_void_p, c_void_p, c_uint8)
rdma_disconnect = function(rdma, 'rdma_disconnect', c_int, c_void_p)
rdma_get_cm_event = function(rdma, 'rdma_get_cm_event', c_int, c_void_p,
                             POINTER(POINTER(CmEvent)))
rdma_ack_cm_event = function(rdma, 'rdma_ack_cm_event', c_int, POINTER(CmEvent))

fault_add = function(cairn, 'cairndv_fault_add', c_int, c_void_p, c_char_p)
fault_clear = function(cairn, 'cairndv_fault_clear', c_int, c_void_p)
fault_list = function(cairn, 'cairndv_fault_list', c_int, c_void_p, POINTER(Fault),
                      POINTER(c_uint32))
query_mr = function(cairn, 'cairndv_query_mr', c_int, c_void_p, POINTER(MrAttr), c_size_t)
group_create = function(cairn, 'cairndv_persist_group_create', c_void_p, POINTER(c_void_p),
                        c_uint32, c_uint32)
group_destroy = function(cairn, 'cairndv_persist_group_destroy', None, c_void_p)
group_post = function(cairn, 'cairndv_persist_group_post', c_int, c_void_p, POINTER(GroupWr))
group_poll = function(cairn, 'cairndv_persist_group_poll', c_int, c_void_p, c_int,
                      POINTER(GroupWc))
group_released = function(cairn, 'cairndv_persist_group_released', c_uint64, c_void_p)
group_set_deadline = function(cairn, 'cairndv_persist_group_set_deadline', c_int, c_void_p,
                              c_uint32, c_uint32)
group_drop = function(cairn, 'cairndv_persist_group_drop', c_int, c_void_p, c_uint32)
group_join = function(cairn, 'cairndv_persist_group_join', c_int, c_void_p, c_uint32, c_void_p)
group_arm = function(cairn, 'cairndv_persist_group_arm', c_int, c_void_p)
group_timeout = function(cairn, 'cairndv_persist_group_timeout', c_int, c_void_p)
chain_create = function(cairn, 'cairndv_chain_create', c_void_p, POINTER(ChainAttr), c_size_t)
chain_destroy = function(cairn, 'cairndv_chain_destroy', None, c_void_p)
chain_poll = function(cairn, 'cairndv_chain_poll', c_int, c_void_p, c_int, POINTER(ChainEvent))
chain_arm = function(cairn, 'cairndv_chain_arm', c_int, c_void_p)
chain_timeout = function(cairn, 'cairndv_chain_timeout', c_int, c_void_p)


def failure(err: int, words: str) -> OSError:
    """An OSError (of the class of its errno) that says what failed, and why."""
    return OSError(err, f'{words}: {os.strerror(err)}')


def check(err: int, words: str) -> None:
    """For functions that return an errno."""
    if err:
        raise failure(err, words)


def check_errno(result: int, words: str) -> None:
    """For functions that return -1 and set errno."""
    if result:
        raise failure(ctypes.get_errno() or errno.EIO, words)


def pointer(result: int | None, words: str) -> int:
    """For functions that return NULL and set errno."""
    if not result:
        raise failure(ctypes.get_errno() or errno.EIO, words)
    return result


def address_of(buffer: Any) -> int:
    """The address of a writable buffer, which has to be kept."""
    return ctypes.addressof(c_char.from_buffer(buffer))
