# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Durable writes to k of n targets."""
from __future__ import annotations

import ctypes
import errno
import mmap
import select
from collections.abc import Sequence
from types import TracebackType
from typing import Union

from . import _abi, _cm
from ._nic import Nic
from .region import Domain, Durability

Data = Union[bytes, bytearray, memoryview]


class _Member:
    """A target of a group, and what its device needs for it."""

    def __init__(self, link: _cm.Link, nic: Nic, region: int) -> None:
        self.link = link
        self.nic = nic
        self.mr = region
        self.cq = 0
        self.place = _cm.Place(0, 0, 0, 0)

    def close(self) -> None:
        self.link.close()
        if self.cq:
            _abi.ibv_destroy_cq(self.cq)
            self.cq = 0


class Group:
    """Writes to some targets; a message is reported when `quorum` of them have it.

    >>> from cairn import Region, Target
    >>> regions = [Region.anonymous(4096) for _ in range(3)]
    >>> targets = [Target(region, '10.77.0.1') for region in regions]
    >>> with Group([target.address for target in targets], quorum=2,
    ...            durability=Durability.EMULATED) as group:
    ...     group.write(0, b'hello')
    ...     for offset in range(8, 4096, 8):
    ...         number = group.post(offset, b'8 bytes!')
    ...     group.wait(number)
    <Durability.EMULATED: 4>
    <Durability.EMULATED: 4>
    >>> sum(region.read(0, 5) == b'hello' for region in regions) >= 2
    True
    >>> for target, region in zip(targets, regions):
    ...     target.close(), region.close()
    (None, None)
    (None, None)
    (None, None)

    targets: "ADDRESS:PORT" of each; see Target.address.
    quorum: how many are enough; None: all.
    durability: targets of a weaker kind are refused, or do not count. By default those that
    keep nothing.
    deadline: seconds for each message at each target, or None. A target that is later is lost.
    depth: messages in flight. largest: bytes of one message.
    timeout: seconds for each connection.

    A message that is not reported may be durable, or not, or in part, at any target
    (persistence.rst has all rules). One thread at a time may use a group.
    """

    def __init__(self, targets: Sequence[str], *, quorum: int | None = None,
                 durability: Durability = Durability.HOST, deadline: float | None = None,
                 depth: int = 64, largest: int = 65536, timeout: float = 10.0) -> None:
        if not 0 < len(targets) <= _abi.CONSTANTS['CAIRNDV_GROUP_MAX'] or isinstance(targets, str):
            raise ValueError(f'{len(targets)} targets')
        for target in targets:
            _cm.split(target)
        self.quorum = len(targets) if quorum is None else quorum
        if not 0 < self.quorum <= len(targets):
            raise ValueError(f'a quorum of {self.quorum} of {len(targets)} targets')
        if depth <= 0 or largest <= 0:
            raise ValueError(f'{depth} messages of {largest} bytes')
        self.targets = tuple(targets)
        #: why targets are not in use: by their index, words
        self.lost: dict[int, str] = {}
        #: the weakest kind of all reported messages; None before the first one
        self.weakest: Durability | None = None
        self._minimum = durability
        self._deadline = deadline
        self._timeout = timeout
        self._depth = depth
        self._largest = largest
        self._posted = self._ended = 0      # all messages up to _ended have ended, ...
        self._early: set[int] = set()       # ... and these behind it
        self._failures: dict[int, OSError] = {}
        self._nics: dict[int, tuple[Nic, int]] = {}
        self._members: list[_Member | None] = [None] * len(targets)
        self._dest = (_abi.GroupDest * len(targets))()
        self._group = 0
        self._slots = mmap.mmap(-1, depth * largest)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        for i in range(len(self.targets)):
            try:
                self._members[i] = self._connect(i)
            except OSError as error:
                self.lost[i] = error.strerror or str(error)
        there = [member for member in self._members if member]
        if len(there) < self.quorum:
            raise OSError(errno.ENOTCONN, f'{len(there)} of {len(self.targets)} targets, and '
                          f'a message needs {self.quorum}: {self._reasons()}')
        pairs = (ctypes.c_void_p * len(self.targets))(
            *(member.link.qp if member else None for member in self._members))
        self._group = _abi.pointer(_abi.group_create(pairs, len(pairs), self._depth), 'a group')
        for i in range(len(self.targets)):
            self._limit(i)

    def _limit(self, index: int) -> None:
        if self._deadline is not None:
            _abi.check(_abi.group_set_deadline(self._group, index,
                                               max(1, round(self._deadline * 1000))),
                       'a deadline')

    def _nic(self, context: int) -> tuple[Nic, int]:
        """A device, and the memory of the messages for it."""
        if context not in self._nics:
            nic = Nic(context)
            try:
                region = _abi.pointer(
                    _abi.ibv_reg_mr(nic.pd, _abi.address_of(self._slots), len(self._slots),
                                    _abi.CONSTANTS['IBV_ACCESS_LOCAL_WRITE']), 'memory')
            except BaseException:
                nic.close()
                raise
            self._nics[context] = (nic, region)
        return self._nics[context]

    def _connect(self, index: int) -> _Member:
        link = _cm.Link(self.targets[index], self._timeout)
        try:
            member = _Member(link, *self._nic(link.context))
        except BaseException:
            link.close()
            raise
        try:
            member.cq = member.nic.create_cq(2 * self._depth + 1)
            member.place = link.connect(member.nic.pd, member.cq, self._depth)
            self._judge(index, member.place)
        except BaseException:
            member.close()
            raise
        self._dest[index] = _abi.GroupDest(rkey=member.place.rkey,
                                           lkey=_abi.Mr.from_address(member.mr).lkey)
        return member

    def _judge(self, index: int, place: _cm.Place) -> None:
        if place.domain == Domain.EMULATED and self._minimum < Durability.EMULATED:
            raise OSError(errno.EOPNOTSUPP, f'{self.targets[index]} keeps nothing '
                          '(durability=Durability.EMULATED takes it)')
        if place.domain == Domain.HOST and self._minimum < Durability.HOST:
            raise OSError(errno.EOPNOTSUPP, f'{self.targets[index]} has no persistent memory')

    def _reasons(self) -> str:
        return '; '.join(words if self.targets[i] in words else f'{self.targets[i]}: {words}'
                         for i, words in sorted(self.lost.items()))

    def __len__(self) -> int:
        """Bytes of the smallest region of the targets."""
        return min((member.place.length for member in self._members if member), default=0)

    def post(self, offset: int, data: Data) -> int:
        """Begin to write to each target, and return the message's number for wait().

        It waits while `depth` messages are on their way. ENOTCONN: fewer targets than the
        quorum are left.
        """
        group = self._opened()
        length = len(data)
        if length > self._largest:
            raise _abi.failure(errno.EMSGSIZE, f'{length} bytes, and largest is {self._largest}')
        if offset < 0 or offset + length > len(self):
            raise ValueError(f'{length} bytes at {offset} are not in {len(self)} bytes')
        self._take()
        while self._posted - _abi.group_released(group) >= self._depth:
            self._sleep()
        while (err := self._try(offset, data, length)) == errno.ENOMEM:
            self._sleep()
        if err == errno.ENOTCONN:
            raise OSError(err, f'too few targets are left: {self._reasons()}')
        _abi.check(err, f'writing {length} bytes at {offset}')
        self._posted += 1
        return self._posted

    def _try(self, offset: int, data: Data, length: int) -> int:
        slot = self._posted % self._depth * self._largest
        self._slots[slot:slot + length] = bytes(data)
        for i, member in enumerate(self._members):
            if member:
                self._dest[i].remote_addr = member.place.address + offset
        piece = _abi.Sge(addr=_abi.address_of(self._slots) + slot, length=length)
        request = _abi.GroupWr(wr_id=self._posted + 1, sg_list=ctypes.pointer(piece), num_sge=1,
                               quorum=self.quorum, durability=self._minimum, dest=self._dest)
        err: int = _abi.group_post(self._group, ctypes.byref(request))
        return err

    def wait(self, number: int | None = None) -> Durability:
        """Wait until a message is reported; None: the last one, and so all.

        Return: the weakest kind of durability of all messages that were reported so far.
        EIO: too few targets have one of the messages up to this one. It is raised once, for the
        first of them, and says nothing of the others.
        """
        number = self._posted if number is None else number
        if not 0 < number <= self._posted:
            raise ValueError(f'there is no message {number}')
        self._opened()
        self._take()
        while self._ended < number:
            self._sleep()
        failed = sorted(n for n in self._failures if n <= number)
        if failed:
            raise [self._failures.pop(n) for n in failed][0]
        return self.weakest or Durability.UNKNOWN

    def write(self, offset: int, data: Data) -> Durability:
        """post() and wait()."""
        return self.wait(self.post(offset, data))

    def _opened(self) -> int:
        if not self._group:
            raise ValueError('the group is closed')
        return self._group

    def _take(self) -> int:
        """Completions and failures that are there."""
        found = (_abi.GroupWc * 16)()
        all_found = 0
        while (got := _abi.group_poll(self._group, len(found), found)) > 0:
            for event in found[:got]:
                self._note(event)
            all_found += got
        _abi.check(-got, 'a group')
        return all_found

    def _note(self, event: _abi.GroupWc) -> None:
        if event.kind == _abi.CONSTANTS['CAIRNDV_GROUP_TARGET']:
            self.lost[event.target] = _abi.ibv_wc_status_str(event.status).decode()
            return
        # a target that has joined has fewer messages to answer than the others
        self._early.add(event.wr_id)
        while self._ended + 1 in self._early:
            self._ended += 1
            self._early.remove(self._ended)
        if event.kind == _abi.CONSTANTS['CAIRNDV_GROUP_FAILED']:
            self._failures[event.wr_id] = OSError(
                errno.EIO, f'message {event.wr_id}: {event.durable} of {len(self.targets)} '
                f'targets have it, and it needs {self.quorum}: {self._reasons()}')
            return
        kind = Durability(event.durability)
        # larger is weaker, and unknown is the weakest
        if self.weakest is None or kind == Durability.UNKNOWN or \
                self.weakest != Durability.UNKNOWN and kind > self.weakest:
            self.weakest = kind

    def _sleep(self) -> None:
        """Until something has come, or a deadline has passed."""
        _abi.check(_abi.group_arm(self._group), 'a group')
        if self._take():
            return
        poll = select.poll()
        nics = {nic.fd: nic for nic, _ in self._nics.values()}
        links = {member.link.fd: member.link for member in self._members if member}
        for fd in (*nics, *links):
            poll.register(fd, select.POLLIN)
        for fd, _ in poll.poll(_abi.group_timeout(self._group)):
            if fd in nics:
                nics[fd].take_event()
            else:
                links[fd].watch()
        self._take()

    def drop(self, index: int) -> None:
        """Go on without a target, as when it had failed. Nothing is said by a failure."""
        self._known(index)
        _abi.check(_abi.group_drop(self._opened(), index), self.targets[index])
        self.lost[index] = 'dropped'

    def join(self, index: int) -> None:
        """Connect again to a target that was lost or dropped.

        It gets the messages that are posted from then on; bring its region up to date first.
        """
        self._known(index)
        if index not in self.lost:
            raise OSError(errno.EISCONN, f'{self.targets[index]} takes part')
        # the queue pair of before has to be out of the group first
        self._place(index, 0)
        old, self._members[index] = self._members[index], None
        if old:
            old.close()
        member = self._connect(index)
        try:
            self._place(index, member.link.qp)
        except BaseException:
            member.close()
            raise
        self._members[index] = member
        del self.lost[index]
        self._limit(index)

    def _place(self, index: int, queue_pair: int) -> None:
        while (err := _abi.group_join(self._opened(), index, queue_pair or None)) == errno.EBUSY:
            self._sleep()
        _abi.check(err, self.targets[index])

    def _known(self, index: int) -> None:
        if not 0 <= index < len(self.targets):
            raise IndexError(f'there is no target {index}')

    def close(self) -> None:
        """Messages that are on their way may become durable nevertheless."""
        if self._group:
            _abi.group_destroy(self._group)
            self._group = 0
        for i, member in enumerate(self._members):
            if member:
                member.close()
            self._members[i] = None
        for nic, region in self._nics.values():
            _abi.ibv_dereg_mr(region)
            nic.close()
        self._nics = {}
        self._slots.close()

    def __enter__(self) -> Group:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()
