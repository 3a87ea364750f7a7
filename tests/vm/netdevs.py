#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Netdevs for which this host has no tool.

    netdevs.py tun NAMESPACE/NAME NAMESPACE/NAME
        Joins two tun interfaces. Says "ready", then carries packets.
    netdevs.py team NAME
        Gives a team interface without ports the mode roundrobin.
    netdevs.py wireguard NAME own|other ADDRESS
        Sets the keys of one of two ends. The other end has ADDRESS and port 51820.
"""
import ctypes
import fcntl
import os
import select
import socket
import struct
import sys

NETLINK_GENERIC = 16
NLM_F_REQUEST, NLM_F_ACK = 1, 4
NESTED = 0x8000
CTRL_GETFAMILY, CTRL_FAMILY_ID, CTRL_FAMILY_NAME = 3, 1, 2
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454ca, 1, 0x1000
CLONE_NEWNET = 0x40000000
WG_PORT = 51820


def attr(kind, data):
    pad = b"\0" * (-len(data) % 4)
    return struct.pack("HH", len(data) + 4, kind) + data + pad


def text(kind, value):
    return attr(kind, value.encode() + b"\0")


def nest(kind, *attrs):
    return attr(kind | NESTED, b"".join(attrs))


class Generic:
    """One generic netlink family."""

    def __init__(self, family):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                                  NETLINK_GENERIC)
        self.kind = NETLINK_GENERIC
        answer = self.ask(CTRL_GETFAMILY, text(CTRL_FAMILY_NAME, family))
        at = 20
        while at < len(answer):
            size, kind = struct.unpack_from("HH", answer, at)
            if kind == CTRL_FAMILY_ID:
                self.kind = struct.unpack_from("H", answer, at + 4)[0]
            at += (size + 3) & ~3

    def ask(self, command, attrs):
        body = struct.pack("BBH", command, 1, 0) + attrs
        self.sock.send(struct.pack("IHHII", 16 + len(body), self.kind,
                                   NLM_F_REQUEST | NLM_F_ACK, 1, 0) + body)
        answer = self.sock.recv(65536)
        if struct.unpack_from("H", answer, 4)[0] == 2:
            error = struct.unpack_from("i", answer, 16)[0]
            if error:
                raise OSError(-error, os.strerror(-error))
        return answer


def team(name):
    """The mode is an option of type string (5)."""
    index = struct.pack("I", socket.if_nametoindex(name))
    option = nest(1, text(1, "mode"), attr(3, b"\5"), text(4, "roundrobin"))
    Generic("team").ask(1, attr(1, index) + nest(2, option))


def x25519(scalar):
    """The public key of a private one (RFC 7748)."""
    prime = 2**255 - 19
    k = int.from_bytes(scalar, "little")
    k = (k & ~7 & (2**254 - 1)) | 2**254
    x1, x2, z2, x3, z3, swap = 9, 1, 0, 9, 1, 0
    for bit in reversed(range(255)):
        now = k >> bit & 1
        if swap ^ now:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = now
        plus, minus = (x2 + z2) % prime, (x2 - z2) % prime
        cross = (x3 - z3) * plus % prime
        other = (x3 + z3) * minus % prime
        plus, minus = plus * plus, minus * minus
        diff = (plus - minus) % prime
        x3 = (cross + other) ** 2 % prime
        z3 = x1 * (cross - other) ** 2 % prime
        x2 = plus * minus % prime
        z2 = diff * (plus + 121665 * diff) % prime
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, prime - 2, prime) % prime).to_bytes(32, "little")


def wireguard(name, which, address):
    keys = [b"\1" * 32, b"\2" * 32]
    if which == "other":
        keys.reverse()
    everything = nest(0, attr(1, struct.pack("H", socket.AF_INET)),
                      attr(2, b"\0" * 4), attr(3, b"\0"))
    endpoint = struct.pack("=H", socket.AF_INET) + struct.pack(">H", WG_PORT) + \
        socket.inet_aton(address) + b"\0" * 8
    peer = nest(0, attr(1, x25519(keys[1])), attr(4, endpoint),
                nest(9, everything))
    Generic("wireguard").ask(1, text(2, name) + attr(3, keys[0]) +
                             attr(6, struct.pack("H", WG_PORT)) +
                             nest(8, peer))


def tun_open(where):
    namespace, name = where.split("/")
    with open("/run/netns/" + namespace) as netns:
        if ctypes.CDLL(None).setns(netns.fileno(), CLONE_NEWNET):
            raise OSError("setns " + namespace)
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, TUNSETIFF,
                struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


def tun(first, second):
    ends = [tun_open(first), tun_open(second)]
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    print("ready", flush=True)
    while True:
        for end in select.select(ends, [], [])[0]:
            packet = os.read(end, 65536)
            try:
                os.write(other[end], packet)
            except OSError:  # the other end is down
                pass


if __name__ == "__main__":
    {"tun": tun, "team": team, "wireguard": wireguard}[sys.argv[1]](*sys.argv[2:])
