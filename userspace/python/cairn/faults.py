# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Faults on demand: packets of a device that are lost, damaged, delayed or refused."""
from __future__ import annotations

import ctypes
import errno
import glob
import ipaddress
import os
from types import TracebackType
from typing import NamedTuple

from . import _abi


class Rule(NamedTuple):
    """A rule as the device has it, the packets that fit it, and those that it was applied to."""
    text: str
    seen: int
    hits: int


def _gids(device: str) -> set[str]:
    """The GIDs of the first port, without the empty ones."""
    found = set()
    for path in glob.glob(f'/sys/class/infiniband/{glob.escape(device)}/ports/1/gids/*'):
        try:
            with open(path, encoding='ascii') as file:
                found.add(ipaddress.IPv6Address(file.read().strip()).exploded)
        except (OSError, ValueError):
            continue    # an index without a GID
    return found


def _gid(name: str) -> str | None:
    """The GID of an address.

    >>> _gid('10.77.0.1')
    '0000:0000:0000:0000:0000:ffff:0a4d:0001'
    >>> _gid('cairn0')
    """
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv4Address):
        address = ipaddress.IPv6Address(f'::ffff:{address}')
    return address.exploded


def _open(name: str) -> int:
    """A context of the device with this name or address."""
    wanted = _gid(name)
    number = ctypes.c_int()
    devices = _abi.ibv_get_device_list(ctypes.byref(number))
    if not devices:
        raise _abi.failure(ctypes.get_errno() or errno.ENODEV, 'the list of devices')
    try:
        for i in range(number.value):
            device = os.fsdecode(_abi.ibv_get_device_name(devices[i]))
            if device == name or (wanted and wanted in _gids(device)):
                opened: int = _abi.pointer(_abi.ibv_open_device(devices[i]), device)
                return opened
    finally:
        _abi.ibv_free_device_list(devices)
    raise _abi.failure(errno.ENODEV, name)


class Faults:
    """The fault rules of a cairn device: cairn_fault(8) has their grammar.

    device: its name ("cairn0"), or an address of its netdev ("10.77.0.1"). The program needs
    CAP_NET_ADMIN in the netdev's namespace. Rules hold for all programs of the device;
    close(), and the end of a with block, remove them all.
    """

    def __init__(self, device: str) -> None:
        self._context = 0
        self._context = _open(device)
        self.device = device

    def add(self, *rules: str) -> None:
        """Add rules, or do at once what "now:" says. Rules before a wrong one stay."""
        for rule in rules:
            err = _abi.fault_add(self._used(), os.fsencode(rule))
            if err == errno.EINVAL:
                raise ValueError(f'{rule}: not a rule, or not possible: see cairn_fault(8)')
            _abi.check(err, rule)

    @property
    def rules(self) -> list[Rule]:
        """In the order in which they are tried."""
        found = (_abi.Fault * _abi.CONSTANTS['CAIRNDV_FAULT_RULES'])()
        number = ctypes.c_uint32(len(found))
        _abi.check(_abi.fault_list(self._used(), found, ctypes.byref(number)), self.device)
        return [Rule(os.fsdecode(fault.rule), fault.seen, fault.hits)
                for fault in found[:number.value]]

    @property
    def hits(self) -> int:
        """How many packets met their fate, by all rules that are there."""
        return sum(rule.hits for rule in self.rules)

    def clear(self) -> None:
        """Remove all rules, those of other programs, too."""
        _abi.check(_abi.fault_clear(self._used()), self.device)

    def close(self) -> None:
        if not self._context:
            return
        try:
            self.clear()
        finally:
            _abi.ibv_close_device(self._context)
            self._context = 0

    def _used(self) -> int:
        if not self._context:
            raise ValueError('it is closed')
        return self._context

    def __enter__(self) -> Faults:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()
