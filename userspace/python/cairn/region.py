# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Memory that keeps what is written into it."""
from __future__ import annotations

import ctypes
import enum
import errno
import fcntl
import mmap
import os
import stat
import struct
import threading
import traceback
from collections.abc import Iterable
from types import TracebackType

from . import _abi

_DAX_UNIT = 2 << 20     # a mapping of devdax has multiples of this


class Domain(enum.IntEnum):
    """The place that makes bytes durable (persistence.rst, "Three ways of being durable")."""
    PMEM = 1        #: persistent memory: the device flushes, the program takes no part
    HOST = 2        #: a file: the program flushes
    EMULATED = 4    #: ordinary memory: its contents are lost at the end


class Durability(enum.IntEnum):
    """The kind of durability that a target reports. Larger is weaker."""
    UNKNOWN = 0     #: not reported
    EADR = 1        #: persistent memory, and the CPU's caches survive, too
    ADR = 2         #: persistent memory
    HOST = 3        #: by the target's program
    EMULATED = 4    #: nothing survives


_ACCESS = {
    Domain.PMEM: _abi.CONSTANTS['CAIRNDV_ACCESS_PERSISTENT'],
    Domain.HOST: _abi.CONSTANTS['CAIRNDV_ACCESS_PERSISTENT_HOST'],
    Domain.EMULATED: _abi.CONSTANTS['CAIRNDV_ACCESS_PERSISTENT'] |
    _abi.CONSTANTS['CAIRNDV_ACCESS_PERSISTENT_EMULATED'],
}


class Region:
    """Memory for a target: a devdax device, a file, or ordinary memory for experiments.

    >>> with Region.anonymous(8192) as region:
    ...     len(region), region.domain, region.read(4096, 4)
    (8192, <Domain.EMULATED: 4>, b'\\x00\\x00\\x00\\x00')

    A file's contents are read when it is opened, and its region holds them in memory. Each
    message is written to the file and flushed before it is reported. One process at a time
    has it open; another one gets EBUSY. `cairn_log serve` and `cairn_chain serve` count as well.
    """

    def __init__(self, domain: Domain, memory: mmap.mmap, fd: int = -1) -> None:
        """Use open() or anonymous()."""
        self.domain = domain
        self._map = memory
        self._fd = fd
        self._flushing = threading.Lock()
        self._users = 0

    @classmethod
    def anonymous(cls, size: int) -> Region:
        """Emulated: of the kind that a program must allow explicitly, as it keeps nothing."""
        return cls(Domain.EMULATED, mmap.mmap(-1, _positive(size)))

    @classmethod
    def open(cls, path: str | os.PathLike[str], size: int = 0) -> Region:
        """A devdax device ("/dev/dax0.0") or a file, which is made if it is not there.

        size: bytes; 0: all of the device, or the file as it is. A file grows to the size
        and does not shrink.
        """
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _lock(fd, os.fspath(path))
            status = os.fstat(fd)
            if stat.S_ISCHR(status.st_mode):
                return cls(Domain.PMEM, _map_device(fd, status.st_rdev, size), fd)
            if stat.S_ISREG(status.st_mode):
                return cls(Domain.HOST, _load_file(fd, os.fspath(path), status.st_size, size),
                           fd)
            raise OSError(errno.EINVAL, 'neither a file nor a devdax device', os.fspath(path))
        except BaseException:
            os.close(fd)
            raise

    def __len__(self) -> int:
        return len(self._map)

    @property
    def address(self) -> int:
        return _abi.address_of(self._map)

    def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """Bytes of the region. While a peer writes them they may be old, new or mixed."""
        if length is None:
            length = len(self) - offset
        _check_range(self, offset, length)
        return self._map[offset:offset + length]

    def write(self, offset: int, data: bytes) -> None:
        """The owner's own write. It is durable after flush()."""
        _check_range(self, offset, len(data))
        self._map[offset:offset + len(data)] = data

    def flush(self, offset: int = 0, length: int | None = None) -> None:
        """Make a range durable that the owner has written. EOPNOTSUPP: persistent memory,
        whose cache lines a program of Python cannot write back."""
        if length is None:
            length = len(self) - offset
        _check_range(self, offset, length)
        if self.domain == Domain.HOST:
            self._keep([(offset, length)])
        elif self.domain == Domain.PMEM:
            raise _abi.failure(errno.EOPNOTSUPP, 'flushing persistent memory')

    def _keep(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Write ranges to the file and flush it, one thread at a time: a failure is told to the
        first fdatasync() only, and may be that of bytes that another thread has written."""
        with self._flushing:
            for offset, length in ranges:
                self._write_back(offset, length)
            os.fdatasync(self._fd)

    def _write_back(self, offset: int, length: int) -> None:
        with memoryview(self._map) as view:
            while length:
                done = os.pwrite(self._fd, view[offset:offset + length], offset)
                offset += done
                length -= done

    def _flush_ranges(self, arg: int | None, ranges: ctypes._Pointer[_abi.ChainRange],
                      num: int) -> int:
        """cairndv_chain_attr.flush: one fdatasync() for all that have arrived."""
        try:
            base = self.address
            self._keep([(ranges[i].va - base, ranges[i].length) for i in range(num)])
            return 0
        except OSError as error:
            return error.errno or errno.EIO
        except BaseException:   # ctypes would print it, and return any number
            traceback.print_exc()
            return errno.EIO

    def _register(self, pd: int) -> int:
        """The region as an ibv_mr; _deregister() gives it back."""
        access = _abi.CONSTANTS['IBV_ACCESS_LOCAL_WRITE'] | \
            _abi.CONSTANTS['IBV_ACCESS_REMOTE_WRITE'] | _ACCESS[self.domain]
        region: int = _abi.pointer(_abi.ibv_reg_mr(pd, self.address, len(self), access),
                                   f'a region of the kind {self.domain.name}')
        self._users += 1
        return region

    def _deregister(self, region: int) -> None:
        _abi.check(_abi.ibv_dereg_mr(region), 'a region')
        self._users -= 1

    def close(self) -> None:
        """EBUSY: a target still serves it."""
        if self._users:
            raise OSError(errno.EBUSY, 'a target serves this region: close it first')
        if not self._map.closed:
            self._map.close()
            if self._fd >= 0:
                os.close(self._fd)

    def __enter__(self) -> Region:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def _lock(fd: int, path: str) -> None:
    """As cairn_log and cairn_chain lock their memory: the lock belongs to the open file."""
    # struct flock: type, whence, start, length, pid
    whole = struct.pack('@hhqqi4x', fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, whole)
    except (BlockingIOError, PermissionError):
        raise OSError(errno.EBUSY, 'another process has it open', path) from None


def _positive(size: int) -> int:
    if size <= 0:
        raise ValueError(f'a size of {size} bytes')
    return size


def _check_range(region: Region, offset: int, length: int) -> None:
    if offset < 0 or length < 0 or offset + length > len(region):
        raise ValueError(f'{length} bytes at {offset} are not in {len(region)} bytes')


def _map_device(fd: int, device: int, size: int) -> mmap.mmap:
    path = f'/sys/dev/char/{os.major(device)}:{os.minor(device)}/size'
    with open(path, encoding='ascii') as file:
        there = int(file.read())
    size = size or there
    size += -size % _DAX_UNIT
    if size > there:
        raise OSError(errno.ENOSPC, f'the device has {there} bytes')
    return mmap.mmap(fd, size, mmap.MAP_SHARED)


def _load_file(fd: int, path: str, there: int, size: int) -> mmap.mmap:
    size = max(size, there)
    if not size:
        raise ValueError(f'{path} is empty: a size is needed')
    # also a file that is there: its process may have ended before it was durable
    os.posix_fallocate(fd, 0, size)
    os.fsync(fd)
    # without its name the file is lost, too
    directory = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    memory = mmap.mmap(-1, size)
    done = 0
    with memoryview(memory) as view:
        while done < size:
            got = os.preadv(fd, [view[done:]], done)
            if not got:
                raise OSError(errno.EIO, 'the file became shorter', path)
            done += got
    return memory
