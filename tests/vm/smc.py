#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Settings of smc-tools, which Debian 12 does not have, by generic netlink.

Any number of these arguments:

    pnet NAME eth IFACE  the interface of this namespace is in this network
    pnet NAME ib DEVICE  the RDMA device, from the initial namespace
    ueid ID              peers of version 2 have one in common
"""
import os
import socket
import struct
import sys

NLM_F_REQUEST, NLM_F_ACK, NLMSG_ERROR = 1, 4, 2
GENL_ID_CTRL, CTRL_CMD_GETFAMILY = 0x10, 3
CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 1, 2
# <linux/smc.h>
PNETID_ADD, PNETID_NAME, PNETID_ETHNAME, PNETID_IBNAME, PNETID_IBPORT = 2, 1, 2, 3, 4
NETLINK_ADD_UEID, EID_TABLE_ENTRY, MAX_EID_LEN = 10, 1, 32


def attr(kind, data):
    pad = -len(data) % 4
    return struct.pack('=HH', 4 + len(data), kind) + data + bytes(pad)


def text(s):
    return s.encode() + b'\0'


def attrs(data):
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from('=HH', data)
        found[kind] = data[4:length]
        data = data[(length + 3) & ~3:]
    return found


def ask(sock, family, command, payload):
    """The attributes of the answer; an error ends the program."""
    body = struct.pack('=BBH', command, 1, 0) + payload
    sock.send(struct.pack('=IHHII', 16 + len(body), family,
                          NLM_F_REQUEST | NLM_F_ACK, 1, 0) + body)
    answer = {}
    while True:
        data = sock.recv(1 << 16)
        while data:
            length, kind = struct.unpack_from('=IH', data)
            if kind == NLMSG_ERROR:
                err, = struct.unpack_from('=i', data, 16)
                if err:
                    sys.exit(f'smc.py: {os.strerror(-err)}')
                return answer
            answer = attrs(data[20:length])
            data = data[(length + 3) & ~3:]


def call(family_name, command, payload):
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
    found = ask(sock, GENL_ID_CTRL, CTRL_CMD_GETFAMILY,
                attr(CTRL_ATTR_FAMILY_NAME, text(family_name)))
    family, = struct.unpack('=H', found[CTRL_ATTR_FAMILY_ID])
    ask(sock, family, command, payload)


def main(words):
    while words:
        if words[0] == 'ueid':
            _, name, *words = words
            call('SMC_GEN_NETLINK', NETLINK_ADD_UEID,
                 attr(EID_TABLE_ENTRY, name.ljust(MAX_EID_LEN).encode() + b'\0'))
            continue
        _, name, kind, device, *words = words
        payload = attr(PNETID_NAME, text(name))
        if kind == 'eth':
            payload += attr(PNETID_ETHNAME, text(device))
        else:
            payload += attr(PNETID_IBNAME, text(device)) + attr(PNETID_IBPORT, b'\1')
        call('SMC_PNETID', PNETID_ADD, payload)


main(sys.argv[1:])
