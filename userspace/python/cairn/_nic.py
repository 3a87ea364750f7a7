# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The objects that connections of one device share."""
from __future__ import annotations

import ctypes

from . import _abi


class Nic:
    """A protection domain, and a channel by which completion queues wake the program."""

    def __init__(self, context: int) -> None:
        self.context = context
        self.channel = 0
        self.pd: int = _abi.pointer(_abi.ibv_alloc_pd(context), 'a protection domain')
        try:
            self.channel = _abi.pointer(_abi.ibv_create_comp_channel(context),
                                        'a completion channel')
        except BaseException:
            self.close()
            raise
        self.fd = _abi.Channel.from_address(self.channel).fd

    def create_cq(self, entries: int) -> int:
        made: int = _abi.pointer(_abi.ibv_create_cq(self.context, entries, None, self.channel, 0),
                                 'a completion queue')
        return made

    def take_event(self) -> None:
        """After poll(2) has said that there is one."""
        queue, context = ctypes.c_void_p(), ctypes.c_void_p()
        _abi.check_errno(_abi.ibv_get_cq_event(self.channel, ctypes.byref(queue),
                                               ctypes.byref(context)), 'a completion event')
        _abi.ibv_ack_cq_events(queue, 1)

    def close(self) -> None:
        if self.channel:
            _abi.ibv_destroy_comp_channel(self.channel)
            self.channel = 0
        if self.pd:
            _abi.ibv_dealloc_pd(self.pd)
            self.pd = 0
