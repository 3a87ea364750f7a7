#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Checks RoCEv2 packets without any of cairn's code.

    wire.py watch INTERFACE PMTU          packets of an interface
    wire.py tap NS-A VA NS-B VB PMTU      a wire of two tap devices

Every packet is checked: lengths, IPv4 header checksum, UDP checksum (on the
wire, i.e. of a tap: elsewhere a device may still have to fill it in) and ICRC
(zlib's CRC, InfiniBand Architecture Specification 7.8.1 and Annex A17). An
interface that segments by itself shows trains; they are cut here, as
segmentation would cut them: in parts of equal size, IPv4 ids rising by one.

Says "ready", runs until SIGTERM, then prints "packets= trains= bad=" and the faults of
the first few bad packets.
"""
import ctypes
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import zlib

ROCE = 4791
BTH = 12
# bytes between BTH and payload, without the transport's upper three bits
EXT = {0x03: 4, 0x05: 4, 0x06: 16, 0x09: 4, 0x0a: 16, 0x0b: 20, 0x0c: 16,
       0x0d: 4, 0x0f: 4, 0x10: 4, 0x11: 4, 0x12: 12, 0x13: 28, 0x14: 28,
       0x16: 4, 0x17: 4}
UD = 0x60


class Tally:
    def __init__(self, pmtu, on_wire):
        self.pmtu, self.on_wire = pmtu, on_wire
        self.packets = self.trains = self.bad = 0
        self.why = []

    def wrong(self, why, packet):
        self.bad += 1
        if len(self.why) < 5:
            self.why.append(f'{why}: {packet[:80].hex()} ({len(packet)} bytes)')


def ones_sum(data):
    if len(data) % 2:
        data += b'\0'
    total = sum(struct.unpack(f'>{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


def headers_for_icrc(ip, udp):
    if ip[0] >> 4 == 4:
        ip = ip[:1] + b'\xff' + ip[2:8] + b'\xff' + ip[9:10] + b'\xff\xff' + ip[12:]
    else:
        ip = bytes([ip[0] | 0xf]) + b'\xff\xff\xff' + ip[4:7] + b'\xff' + ip[8:]
    return b'\xff' * 8 + ip + udp[:6] + b'\xff\xff'


def icrc_fits(ip, udp, body):
    covered = body[:4] + b'\xff' + body[5:-4]
    crc = zlib.crc32(headers_for_icrc(ip, udp) + covered)
    return struct.pack('<I', crc) == body[-4:]


def udp_checksum_fits(ip, udp, body):
    if udp[6:8] == b'\0\0':
        return True
    addresses = ip[12:20] if ip[0] >> 4 == 4 else ip[8:40]
    pseudo = addresses + struct.pack('>HH', 17, len(udp) + len(body))
    return ones_sum(pseudo + udp + body) == 0xffff


def with_lengths(ip, udp, body_len, k):
    """The headers of segment k of a train."""
    udp_len = 8 + body_len
    udp = udp[:4] + struct.pack('>H', udp_len) + udp[6:]
    if ip[0] >> 4 == 4:
        ident = (struct.unpack('>H', ip[4:6])[0] + k) & 0xffff
        ip = ip[:2] + struct.pack('>HH', len(ip) + udp_len, ident) + ip[6:]
    else:
        ip = ip[:4] + struct.pack('>H', udp_len) + ip[6:]
    return ip, udp


def ext_len(opcode):
    if opcode & 0xe0 == UD:
        return 8 + EXT.get(opcode & 0x1f, 0)
    return EXT.get(opcode & 0x1f, 0)


def find_stride(tally, ip, udp, body):
    """The place to cut a train: after the first part whose ICRC fits."""
    full = BTH + ext_len(body[0]) + tally.pmtu + 4
    for stride in (full, *range(BTH + 4, min(full, len(body)), 4)):
        segment = body[:stride]
        if icrc_fits(*with_lengths(ip, udp, len(segment), 0), segment):
            return stride
    return full


def check_body(tally, ip, udp, body, packet):
    if tally.on_wire or icrc_fits(ip, udp, body):
        tally.packets += 1
        if not icrc_fits(ip, udp, body):
            tally.wrong('ICRC', packet)
        if tally.on_wire and not udp_checksum_fits(ip, udp, body):
            tally.wrong('UDP checksum', packet)
        return
    tally.trains += 1
    stride = find_stride(tally, ip, udp, body)
    for k, at in enumerate(range(0, len(body), stride)):
        segment = body[at:at + stride]
        tally.packets += 1
        if not icrc_fits(*with_lengths(ip, udp, len(segment), k), segment):
            tally.wrong(f'ICRC of segment {k}', packet)


def check_frame(tally, frame):
    kind = struct.unpack('>H', frame[12:14])[0]
    packet = frame[14:]
    if kind == 0x0800 and packet[9] == 17:
        head, total = 20, struct.unpack('>H', packet[2:4])[0]
    elif kind == 0x86dd and packet[6] == 17:
        head, total = 40, 40 + struct.unpack('>H', packet[4:6])[0]
    else:
        return
    ip, udp = packet[:head], packet[head:head + 8]
    if struct.unpack('>H', udp[2:4])[0] != ROCE:
        return
    if kind == 0x0800 and (ip[0] != 0x45 or ones_sum(ip) != 0xffff):
        tally.wrong('IPv4 header', packet)
    if len(packet) < total or len(packet) > max(total, 46) or \
            struct.unpack('>H', udp[4:6])[0] != total - head or \
            total - head - 8 < BTH + 4:
        tally.wrong('length', packet)
        return
    check_body(tally, ip, udp, packet[head + 8:total], packet)


def until_told(sources, take):
    stop, told = os.pipe()
    signal.signal(signal.SIGTERM, lambda *_: os.write(told, b'x'))
    print('ready', flush=True)
    while True:
        ready, _, _ = select.select([stop, *sources], [], [])
        for source in ready:
            if source != stop:
                take(source)
        if ready == [stop]:
            return


def report(tally):
    print(f'packets={tally.packets} trains={tally.trains} bad={tally.bad}')
    print('\n'.join(tally.why), flush=True)


def watch(interface, pmtu):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
    sock.bind((interface, 0))
    tally = Tally(pmtu, False)
    until_told([sock], lambda s: check_frame(tally, s.recv(1 << 17)))
    report(tally)


def open_tap(namespace, name):
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f'/run/netns/{namespace}') as ns:
        if libc.setns(ns.fileno(), 0):
            raise OSError(ctypes.get_errno(), 'setns')
    fd = os.open('/dev/net/tun', os.O_RDWR)
    fcntl.ioctl(fd, 0x400454ca, struct.pack('16sH22x', name.encode(), 0x1002))
    return fd


def tap(ns_a, name_a, ns_b, name_b, pmtu):
    a, b = open_tap(ns_a, name_a), open_tap(ns_b, name_b)
    tally = Tally(pmtu, True)

    def forward(source):
        frame = os.read(source, 1 << 17)
        check_frame(tally, frame)
        try:
            os.write(a if source == b else b, frame)
        except OSError:
            pass    # the other end is down
    until_told([a, b], forward)
    report(tally)


if __name__ != '__main__':
    pass    # as a module
elif sys.argv[1] == 'watch':
    watch(sys.argv[2], int(sys.argv[3]))
else:
    tap(*sys.argv[2:6], int(sys.argv[6]))
