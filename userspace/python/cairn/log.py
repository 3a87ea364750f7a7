# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A replicated log of records: that of cairn_log(1), whose targets keep it."""
from __future__ import annotations

import ctypes
import errno
import os
import pathlib
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from . import _abi, _cm
from .group import Data

_code = ctypes.CDLL(str(pathlib.Path(__file__).with_name('_log.abi3.so')), use_errno=True)
_POINTER = ctypes.POINTER(ctypes.c_void_p)


def _function(name: str, result: Any, *arguments: Any) -> Any:
    return _abi.function(_code, 'log_python_' + name, result, *arguments)


_open = _function('open', ctypes.c_int, ctypes.POINTER(_abi.LogOptions), _POINTER,
                  ctypes.c_char_p, ctypes.c_size_t)
_close = _function('close', None, ctypes.c_void_p)
_post = _function('post', ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32,
                  ctypes.POINTER(ctypes.c_uint64))
_poll = _function('poll', ctypes.c_int, ctypes.c_void_p)
_wait = _function('wait', ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32)
_state = _function('state', None, ctypes.c_void_p, ctypes.POINTER(_abi.LogState))
_reader_open = _function('reader_open', ctypes.c_int, ctypes.c_char_p, ctypes.c_uint64, _POINTER)
_reader_next = _function('reader_next', ctypes.c_int, ctypes.c_void_p,
                         ctypes.POINTER(_abi.LogRecord))
_reader_lost = _function('reader_lost', ctypes.c_uint64, ctypes.c_void_p)
_reader_close = _function('reader_close', None, ctypes.c_void_p)

_TURN_MS = 50   # a wait in C; between two of them Python sees its signals
DEFAULT_PORT = '7471'


class Record(NamedTuple):
    """A record of a log."""
    seq: int        #: its number, from 1
    epoch: int      #: of the writer that wrote it
    data: bytes


class Log:
    """A writer of a log. It is the only one: the targets let in one at a time.

    targets: "ADDRESS:PORT" of each `cairn_log serve`, 4 at most.
    create: make a log where all targets are empty.
    quorum: how many targets a record needs; None: as the log was made, and all of a new one.
    fill: make copies at empty targets of a log that others have.
    takeover: also from a writer that is connected. That one can not write any more.
    emulated: targets count that keep nothing.
    deadline: seconds for each record at each target. A later one is left out, and taken back
    when it answers again. None: no limit.
    largest: bytes of one record, 65480 at most.

    When it is opened it finds all reported records and makes the targets equal. After an error
    it can only be closed; another Log of the same targets finds out what has become of its
    records. One thread at a time may use it. Waiting takes CPU time, as it polls.
    """

    def __init__(self, targets: Sequence[str], *, create: bool = False, quorum: int | None = None,
                 fill: bool = False, takeover: bool = False, emulated: bool = False,
                 deadline: float | None = 5.0, largest: int = 4096) -> None:
        self._log = 0
        most = _abi.CONSTANTS['LOG_MAX_TARGETS']
        if isinstance(targets, str) or not 0 < len(targets) <= most:
            raise ValueError(f'{len(targets)} targets, and a log has 1 to {most}')
        if quorum is not None and not 0 < quorum <= len(targets):
            raise ValueError(f'a quorum of {quorum} of {len(targets)} targets')
        flags = ('LOG_ASK_CREATE', create), ('LOG_ASK_FILL', fill), ('LOG_ASK_TAKEOVER', takeover)
        names = [_cm.split(target) for target in targets]
        kind = ctypes.c_char_p * len(names)
        options = _abi.LogOptions(
            addresses=kind(*(address.encode() for address, _ in names)),
            ports=kind(*(port.encode() for _, port in names)), num=len(names),
            flags=sum(_abi.CONSTANTS[name] for name, wanted in flags if wanted),
            quorum=quorum or 0, emulated=emulated, largest=largest,
            deadline_ms=0 if deadline is None else max(1, round(deadline * 1000)))
        made, words = ctypes.c_void_p(), ctypes.create_string_buffer(256)
        err = _open(ctypes.byref(options), ctypes.byref(made), words, len(words))
        if err:
            raise OSError(err, words.value.decode() or f'a log: {os.strerror(err)}')
        self._log = made.value or 0

    def _now(self) -> _abi.LogState:
        if not self._log:
            raise ValueError('the log is closed')
        state = _abi.LogState()
        _state(self._log, ctypes.byref(state))
        return state

    def _check(self, err: int) -> None:
        if err:
            words = self._now().error
            raise OSError(err, words.decode() if words else f'a log: {os.strerror(err)}')

    def post(self, data: Data) -> int:
        """Begin to append a record, and return its number. ENOSPC: the log is full."""
        self._now()
        number = ctypes.c_uint64()
        copy = bytes(data)
        while (err := _post(self._log, copy, len(copy), ctypes.byref(number))) == errno.EAGAIN:
            self._check(_poll(self._log))
        if err in (errno.ENOSPC, errno.EMSGSIZE):
            raise _abi.failure(err, f'a record of {len(copy)} bytes')
        self._check(err)
        return number.value

    def wait(self, seq: int | None = None) -> int:
        """Wait until a record is durable; None: the last one. Return: the last durable one."""
        state = self._now()
        seq = state.next - 1 if seq is None else seq
        if seq >= state.next:
            raise ValueError(f'there is no record {seq}')
        while (err := _wait(self._log, seq, _TURN_MS)) == errno.EAGAIN:
            pass
        self._check(err)
        return self.durable

    def append(self, data: Data) -> int:
        """Append a record, and return its number when it is durable."""
        seq = self.post(data)
        self.wait(seq)
        return seq

    @property
    def durable(self) -> int:
        """The number of the last record that is durable."""
        return int(self._now().durable)

    @property
    def left(self) -> int:
        """How many targets have not failed."""
        return int(self._now().left)

    @property
    def quorum(self) -> int:
        """How many targets a record needs."""
        return int(self._now().quorum)

    def close(self) -> None:
        """Records that are on their way may become durable nevertheless."""
        if self._log:
            _close(self._log)
            self._log = 0

    def __enter__(self) -> Log:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def records(path: str | os.PathLike[str], size: int = 0) -> Iterator[Record]:
    """The records of a log on its medium: a devdax device or a file of `cairn_log serve`.

    >>> next(records('/dev/null'))
    Traceback (most recent call last):
    OSError: [Errno 22] Invalid argument: '/dev/null'

    EINVAL: there is no log; EUCLEAN: a copy that no writer has finished; EBADMSG after the last
    record: there were more when a writer came. Each record was checked. Records that are
    appended meanwhile may be among them or not.
    """
    made = ctypes.c_void_p()
    err = _reader_open(os.fsencode(path), size, ctypes.byref(made))
    if err:
        raise OSError(err, os.strerror(err), os.fspath(path))
    try:
        found = _abi.LogRecord()
        while not (err := _reader_next(made, ctypes.byref(found))):
            yield Record(found.seq, found.epoch, ctypes.string_at(found.data, found.length))
        if err != errno.ENODATA:
            raise OSError(err, os.strerror(err), os.fspath(path))
        lost = _reader_lost(made)
        if lost:
            raise OSError(errno.EBADMSG, f'{lost} records are lost', os.fspath(path))
    finally:
        _reader_close(made)
