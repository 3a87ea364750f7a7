# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Connections: rdma_cm with the events of one connection, or of one listener."""
from __future__ import annotations

import ctypes
import errno
import os
import select
import socket
import struct
import time
from typing import NamedTuple

from . import _abi

# A request and its answer travel in the private data of the connection.
_ASK = struct.Struct('=8s')
_ANSWER = struct.Struct('=8sQQII')
_MAGIC = b'cairnpy1'
# A neighbour that is not known yet may need several attempts.
_RESOLVE_MS = 500
_ROUTE_MS = 2000


class Place(NamedTuple):
    """The region of a target, as it describes it."""
    address: int
    length: int
    rkey: int
    domain: int


def split(target: str) -> tuple[str, str]:
    """The address and the port of "10.77.0.1:7471" or "[fd77::1]:7471".

    >>> split('[fd77::1]:7471')
    ('fd77::1', '7471')
    """
    address, colon, port = target.rpartition(':')
    if address.startswith('[') and address.endswith(']'):
        address = address[1:-1]
    elif ':' in address:
        colon = ''
    if not (colon and address and port.isdecimal() and 0 < int(port) < 65536):
        raise ValueError(f'{target!r} is not ADDRESS:PORT')
    return address, port


def pack_ask() -> bytes:
    return _ASK.pack(_MAGIC)


def is_ask(data: bytes) -> bool:
    return data[:_ASK.size] == _MAGIC


def pack_answer(place: Place) -> bytes:
    return _ANSWER.pack(_MAGIC, *place)


def unpack_answer(data: bytes) -> Place:
    if len(data) < _ANSWER.size or data[:len(_MAGIC)] != _MAGIC:
        raise _abi.failure(errno.EPROTO, 'the target is no cairn.Target of this version')
    return Place(*_ANSWER.unpack_from(data)[1:])


class Event(NamedTuple):
    kind: int
    status: int
    id: int
    data: bytes


class Events:
    """The events of some connections."""

    def __init__(self) -> None:
        self.pointer: int = _abi.pointer(_abi.rdma_create_event_channel(), 'rdma_cm')
        self.fd: int = _abi.CmChannel.from_address(self.pointer).fd
        os.set_blocking(self.fd, False)

    def next(self, ms: int = 0) -> Event | None:
        """The next event; None: there is none in so many milliseconds."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        if not poll.poll(ms):
            return None
        found = ctypes.POINTER(_abi.CmEvent)()
        _abi.check_errno(_abi.rdma_get_cm_event(self.pointer, ctypes.byref(found)), 'rdma_cm')
        event, param = found.contents, found.contents.param
        data = b''
        if param.private_data and event.event in (
                _abi.CONSTANTS['RDMA_CM_EVENT_CONNECT_REQUEST'],
                _abi.CONSTANTS['RDMA_CM_EVENT_ESTABLISHED'],
                _abi.CONSTANTS['RDMA_CM_EVENT_REJECTED']):
            data = ctypes.string_at(param.private_data, param.private_data_len)
        copy = Event(event.event, event.status, event.id, data)
        _abi.rdma_ack_cm_event(found)
        return copy

    def close(self) -> None:
        if self.pointer:
            _abi.rdma_destroy_event_channel(self.pointer)
            self.pointer = 0


def create_id(events: Events) -> int:
    made = ctypes.c_void_p()
    _abi.check_errno(_abi.rdma_create_id(events.pointer, ctypes.byref(made), None,
                                         _abi.CONSTANTS['RDMA_PS_TCP']), 'rdma_cm')
    return made.value or 0


def fields(cm_id: int) -> _abi.CmId:
    return _abi.CmId.from_address(cm_id)


def create_qp(cm_id: int, pd: int, cq: int, sends: int, receives: int) -> int:
    """The queue pair of a connection."""
    init = _abi.QpInit(send_cq=cq, recv_cq=cq, qp_type=_abi.CONSTANTS['IBV_QPT_RC'],
                       sq_sig_all=1, cap=_abi.QpCap(max_send_wr=sends, max_recv_wr=receives,
                                                    max_send_sge=1, max_recv_sge=1))
    _abi.check_errno(_abi.rdma_create_qp(cm_id, pd, ctypes.byref(init)), 'a queue pair')
    return int(fields(cm_id).qp or 0)


def conn_param(data: ctypes.Array[ctypes.c_char], length: int) -> _abi.ConnParam:
    """The caller keeps data."""
    return _abi.ConnParam(private_data=ctypes.addressof(data), private_data_len=length,
                          responder_resources=1, initiator_depth=1, retry_count=7,
                          rnr_retry_count=7)


class Link:
    """A connection to a target: resolve(), give it a queue pair, connect()."""

    def __init__(self, target: str, timeout: float) -> None:
        self.target = target
        self._until = time.monotonic() + timeout
        self.id = self.qp = 0
        self._events = Events()
        try:
            self._resolve(*split(target))
        except BaseException:
            self.close()
            raise

    def _wait(self, wanted: int) -> Event | None:
        """The event, or None when an address has to be asked for again."""
        event = None
        while event is None:
            left = self._until - time.monotonic()
            if left <= 0:
                raise _abi.failure(errno.ETIMEDOUT, self.target)
            event = self._events.next(min(int(left * 1000) + 1, 100))
        if event.kind == wanted:
            return event
        if event.kind == _abi.CONSTANTS['RDMA_CM_EVENT_ADDR_ERROR'] and \
                event.status == -errno.ETIMEDOUT:
            return None
        if event.kind == _abi.CONSTANTS['RDMA_CM_EVENT_REJECTED']:
            raise _abi.failure(errno.ECONNREFUSED, self.target)
        raise _abi.failure(-event.status if event.status < 0 else errno.EHOSTUNREACH,
                           self.target)

    def _resolve(self, address: str, port: str) -> None:
        hints = _abi.AddrInfo(ai_port_space=_abi.CONSTANTS['RDMA_PS_TCP'])
        found = ctypes.POINTER(_abi.AddrInfo)()
        self.id = create_id(self._events)
        # it sets no errno for a name that is not known
        if _abi.rdma_getaddrinfo(address.encode(), port.encode(), ctypes.byref(hints),
                                 ctypes.byref(found)):
            raise _abi.failure(errno.EHOSTUNREACH, self.target)
        try:
            event = None
            while event is None:
                _abi.check_errno(_abi.rdma_resolve_addr(
                    self.id, None, found.contents.ai_dst_addr, _RESOLVE_MS), self.target)
                event = self._wait(_abi.CONSTANTS['RDMA_CM_EVENT_ADDR_RESOLVED'])
        finally:
            _abi.rdma_freeaddrinfo(found)
        _abi.check_errno(_abi.rdma_resolve_route(self.id, _ROUTE_MS), self.target)
        self._wait(_abi.CONSTANTS['RDMA_CM_EVENT_ROUTE_RESOLVED'])

    @property
    def context(self) -> int:
        """The device's context, an integer."""
        return int(fields(self.id).verbs or 0)

    def connect(self, pd: int, cq: int, depth: int) -> Place:
        self.qp = create_qp(self.id, pd, cq, depth, 1)
        ask = pack_ask()
        data = ctypes.create_string_buffer(ask, len(ask))
        param = conn_param(data, len(ask))
        _abi.check_errno(_abi.rdma_connect(self.id, ctypes.byref(param)), self.target)
        event = self._wait(_abi.CONSTANTS['RDMA_CM_EVENT_ESTABLISHED'])
        return unpack_answer(event.data if event else b'')

    @property
    def fd(self) -> int:
        return self._events.fd

    def watch(self) -> None:
        """After an event: a target that goes takes no more messages."""
        while (event := self._events.next()) is not None:
            if event.kind in (_abi.CONSTANTS['RDMA_CM_EVENT_DISCONNECTED'],
                              _abi.CONSTANTS['RDMA_CM_EVENT_DEVICE_REMOVAL']):
                _abi.rdma_disconnect(self.id)

    def close(self) -> None:
        if self.qp:
            _abi.rdma_disconnect(self.id)
            _abi.rdma_destroy_qp(self.id)
            self.qp = 0
        if self.id:
            _abi.rdma_destroy_id(self.id)
            self.id = 0
        self._events.close()


def listen(events: Events, address: str, port: int, backlog: int = 16) -> int:
    """A listener of an IPv4 address of a device; port 0: any."""
    try:
        raw = socket.inet_aton(address)
    except OSError:
        raise ValueError(f'{address!r} is no IPv4 address') from None
    name = _abi.SockAddr(sin_family=socket.AF_INET)
    name.sin_port[:] = list(port.to_bytes(2, 'big'))
    name.sin_addr[:] = list(raw)
    cm_id = create_id(events)
    try:
        _abi.check_errno(_abi.rdma_bind_addr(cm_id, ctypes.addressof(name)),
                         f'{address}:{port}')
        if not fields(cm_id).verbs:
            raise _abi.failure(errno.ENODEV, f'{address} is of no RDMA device')
        _abi.check_errno(_abi.rdma_listen(cm_id, backlog), f'{address}:{port}')
    except BaseException:
        _abi.rdma_destroy_id(cm_id)
        raise
    return cm_id
