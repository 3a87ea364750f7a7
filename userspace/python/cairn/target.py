# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The end that has the memory."""
from __future__ import annotations

import ctypes
import os
import select
import socket
import threading
from types import TracebackType

from . import _abi, _cm
from ._nic import Nic
from .region import Domain, Region

_DEPTH = 64     # messages of one writer that wait for the file


class _Writer:
    """A connection: with host flush its messages are flushed and answered here."""

    def __init__(self, target: Target, nic: Nic, cm_id: int) -> None:
        self.id = cm_id
        self.cq = self.chain = 0
        self._target = target
        self._flush = _abi.CHAIN_FLUSH(target.region._flush_ranges)
        host = target.region.domain == Domain.HOST
        try:
            self.cq = nic.create_cq(2 * _DEPTH + 1)
            queue_pair = _cm.create_qp(cm_id, nic.pd, self.cq, 1,
                                       2 * _DEPTH if host else 1)
            if host:
                attr = _abi.ChainAttr(qp=queue_pair, mr=target._mr, depth=_DEPTH,
                                      flush=self._flush)
                self.chain = _abi.pointer(_abi.chain_create(ctypes.byref(attr),
                                                            ctypes.sizeof(attr)),
                                          'answering messages')
            answer = _cm.pack_answer(target._place)
            data = ctypes.create_string_buffer(answer, len(answer))
            param = _cm.conn_param(data, len(answer))
            _abi.check_errno(_abi.rdma_accept(cm_id, ctypes.byref(param)), 'a connection')
        except BaseException:
            self.close()
            raise

    def poll(self) -> bool:
        """Flush and answer what has come. Return: whether more can come."""
        if not self.chain:
            return True
        _abi.check(_abi.chain_arm(self.chain), 'a completion queue')
        event = _abi.ChainEvent()
        while (got := _abi.chain_poll(self.chain, 1, ctypes.byref(event))) > 0:
            if event.kind == _abi.CONSTANTS['CAIRNDV_CHAIN_FAILED']:
                self._target.failure = _abi.failure(event.error, 'flushing the region')
            else:
                return False
        _abi.check(-got, 'a completion queue')
        return True

    def close(self) -> None:
        if self.chain:
            _abi.chain_destroy(self.chain)
        if _cm.fields(self.id).qp:
            _abi.rdma_disconnect(self.id)
            _abi.rdma_destroy_qp(self.id)
        _abi.rdma_destroy_id(self.id)
        if self.cq:
            _abi.ibv_destroy_cq(self.cq)
        self.chain = self.cq = 0


class Target:
    """Serves a region to writers, in a thread of its own, until it is closed.

    >>> region = Region.anonymous(1 << 20)
    >>> target = Target(region, '10.77.0.1')
    >>> target.address                                      # doctest: +ELLIPSIS
    '10.77.0.1:...'
    >>> region.close()
    Traceback (most recent call last):
    OSError: [Errno 16] a target serves this region: close it first
    >>> target.close(), region.close()
    (None, None)

    address: an IPv4 address of a cairn device. Without a port it takes a free one. Any
    number of writers may connect; the region is the same for all. With persistent memory
    the thread takes no part in their messages.
    """

    def __init__(self, region: Region, address: str, port: int = 0) -> None:
        self.region = region
        #: the first flush that failed: no message was reported after it on that connection
        self.failure: OSError | None = None
        self._writers: dict[int, _Writer] = {}
        self._mr = self._listener = 0
        self._thread: threading.Thread | None = None
        self._nic: Nic | None = None
        self._wake, self._waker = os.pipe()
        self._events = _cm.Events()
        try:
            self._listener = _cm.listen(self._events, address, port)
            self._nic = Nic(_cm.fields(self._listener).verbs or 0)
            self._mr = region._register(self._nic.pd)
            self._place = self._describe()
            number = socket.ntohs(_abi.rdma_get_src_port(self._listener))
        except BaseException:
            self.close()
            raise
        #: what a writer connects to, "10.77.0.1:7471"
        self.address = f'{address}:{number}'
        self._thread = threading.Thread(target=self._serve, args=(self._nic,),
                                        name=f'cairn {self.address}', daemon=True)
        self._thread.start()

    def _describe(self) -> _cm.Place:
        attr = _abi.MrAttr()
        _abi.check(_abi.query_mr(self._mr, ctypes.byref(attr), ctypes.sizeof(attr)),
                   'the kind of the region')
        return _cm.Place(self.region.address, len(self.region),
                         _abi.Mr.from_address(self._mr).rkey, attr.persist_domain)

    def _serve(self, nic: Nic) -> None:
        poll = select.poll()
        for fd in (self._wake, self._events.fd, nic.fd):
            poll.register(fd, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if self._wake in ready:
                return
            if nic.fd in ready:
                nic.take_event()
            while (event := self._events.next()) is not None:
                self._take(nic, event)
            for writer in list(self._writers.values()):
                if not self._polls(writer):
                    self._leave(writer.id)

    def _polls(self, writer: _Writer) -> bool:
        try:
            return writer.poll()
        except OSError as error:
            self.failure = error
            return False

    def _take(self, nic: Nic, event: _cm.Event) -> None:
        if event.kind == _abi.CONSTANTS['RDMA_CM_EVENT_CONNECT_REQUEST']:
            if not _cm.is_ask(event.data):
                _abi.rdma_reject(event.id, None, 0)
                _abi.rdma_destroy_id(event.id)
                return
            try:
                self._writers[event.id] = _Writer(self, nic, event.id)
            except OSError as error:
                self.failure = error
        elif event.kind != _abi.CONSTANTS['RDMA_CM_EVENT_ESTABLISHED']:
            self._leave(event.id)

    def _leave(self, cm_id: int) -> None:
        writer = self._writers.pop(cm_id, None)
        if writer:
            writer.close()

    def close(self) -> None:
        """Writers lose their connection; what was not reported is unknown to them."""
        if self._thread:
            os.write(self._waker, b'\0')
            self._thread.join()
            self._thread = None
        for cm_id in list(self._writers):
            self._leave(cm_id)
        if self._listener:
            _abi.rdma_destroy_id(self._listener)
            self._listener = 0
        if self._mr:
            self.region._deregister(self._mr)
            self._mr = 0
        if self._nic:
            self._nic.close()
            self._nic = None
        self._events.close()
        for fd in (self._wake, self._waker):
            if fd >= 0:
                os.close(fd)
        self._wake = self._waker = -1

    def __enter__(self) -> Target:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()
