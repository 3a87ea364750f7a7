#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""When and how RoCEv2 packets over IPv4 pass an interface.

    capture.py rate INTERFACE SOURCE KBPS   the data packets of one sender
    capture.py ecn INTERFACE                ECN fields, by sender

Says "ready" and lets the kernel keep packets with their timestamps, so that it
takes no CPU time from the senders. At SIGTERM it reads them and prints for rate:

packets=   number
bytes=     UDP payload
ms=        from the first packet to the last
excess=    bytes, the most that any window of time holds above KBPS
surplus=   the same, only of windows that begin with the first packet
longest=   UDP payload of the longest frame
repeats=   PSNs seen before
disorder=  opcodes and PSNs that do not follow from those before
missed=    packets that the kernel had no room for

For ecn: "SOURCE data|ack|CNP|other ECN: FRAMES" for each that was seen, then missed=.
"""
import collections
import os
import signal
import socket
import struct
import sys

ROCE = 4791
SOL_PACKET, PACKET_STATISTICS = 263, 6
SO_TIMESTAMPNS, SO_RCVBUFFORCE = 35, 33
# RC and UC: how a message's packets follow each other
FIRST, MIDDLE, LAST, ONLY = range(4)
PLACE = {0x00: FIRST, 0x01: MIDDLE, 0x02: LAST, 0x03: LAST, 0x04: ONLY, 0x05: ONLY,
         0x06: FIRST, 0x07: MIDDLE, 0x08: LAST, 0x09: LAST, 0x0a: ONLY, 0x0b: ONLY,
         0x0d: FIRST, 0x0e: MIDDLE, 0x0f: LAST, 0x10: ONLY}
CNP = 0x81

Packet = collections.namedtuple('Packet', 'time source ecn opcode psn bytes')


def parse(frame, ancillary):
    if struct.unpack('>H', frame[12:14])[0] != 0x0800 or frame[23] != 17:
        return None
    _, port, length = struct.unpack('>HHH', frame[34:40])
    if port != ROCE:
        return None
    stamp = next(data for level, kind, data in ancillary
                 if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS))
    seconds, ns = struct.unpack('qq', stamp)
    return Packet(seconds * 10**9 + ns, socket.inet_ntoa(frame[26:30]), frame[15] & 3,
                  frame[42], int.from_bytes(frame[51:54], 'big'), length - 8)


def capture(interface):
    """Packets in the order in which they passed, and how many are missing."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    sock.bind((interface, 0))
    stop, told = os.pipe()
    signal.signal(signal.SIGTERM, lambda *_: os.write(told, b'x'))
    print('ready', flush=True)
    os.read(stop, 1)
    sock.setblocking(False)
    packets = []
    while True:
        try:
            frame, ancillary, _, _ = sock.recvmsg(64, 64)
        except BlockingIOError:
            break
        packets.append(parse(frame, ancillary))
    _, missed = struct.unpack('II', sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
    return [p for p in packets if p], missed


def is_data(packet):
    return packet.opcode != CNP and packet.opcode & 0x1f in PLACE


def ordered(packets):
    """Repeats, and packets that would not be there without interruption."""
    repeats = disorder = 0
    seen, last = {}, None
    for p in packets:
        if p.psn in seen:
            repeats += 1
            disorder += seen[p.psn] != p.opcode
            continue
        seen[p.psn] = p.opcode
        place = PLACE[p.opcode & 0x1f]
        if last is None:
            disorder += place not in (FIRST, ONLY)
        else:
            inside = PLACE[last.opcode & 0x1f] in (FIRST, MIDDLE)
            disorder += p.psn != (last.psn + 1) & 0xffffff
            disorder += inside != (place in (MIDDLE, LAST))
        last = p
    disorder += last is not None and PLACE[last.opcode & 0x1f] not in (LAST, ONLY)
    return repeats, disorder


def excesses(packets, kbps):
    """Bytes above the rate: the worst window of all, the worst from the start."""
    worst = surplus = sent = 0
    lowest = None
    for p in packets:
        # bytes sent before this packet, less the bytes that the rate allowed until then
        before = sent - (p.time - packets[0].time) * kbps / 8e6
        lowest = before if lowest is None else min(lowest, before)
        sent += p.bytes
        worst = max(worst, before + p.bytes - lowest)
        surplus = max(surplus, before + p.bytes)
    return int(worst), int(surplus)


def rate(interface, source, kbps):
    packets, missed = capture(interface)
    packets = [p for p in packets if p.source == source and is_data(p)]
    worst, surplus = excesses(packets, kbps)
    repeats, disorder = ordered(packets)
    ms = (packets[-1].time - packets[0].time) // 10**6 if packets else 0
    print(f'packets={len(packets)} bytes={sum(p.bytes for p in packets)} ms={ms} '
          f'excess={worst} surplus={surplus} '
          f'longest={max((p.bytes for p in packets), default=0)} '
          f'repeats={repeats} disorder={disorder} missed={missed}', flush=True)


def kind_of(packet):
    if is_data(packet):
        return 'data'
    return {CNP: 'CNP', 0x11: 'ack'}.get(packet.opcode, 'other')


def ecn(interface):
    packets, missed = capture(interface)
    count = collections.Counter((p.source, kind_of(p), p.ecn) for p in packets)
    for (source, kind, field), n in sorted(count.items()):
        print(f'{source} {kind} {field}: {n}')
    print(f'missed={missed}', flush=True)


if sys.argv[1] == 'rate':
    rate(sys.argv[2], sys.argv[3], int(sys.argv[4]))
else:
    ecn(sys.argv[2])
