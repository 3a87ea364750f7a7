#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sends bytes over TCP, and gets their digest back: a program without RDMA.

echo.py server|client ADDRESS PORT BYTES
"""
import hashlib
import socket
import sys

role, address, port, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
if role == 'server':
    s = socket.socket()
    s.bind((address, port))
    s.listen(1)
    print('ready', flush=True)
    c, _ = s.accept()
    total, h = 0, hashlib.sha256()
    while total < size:
        d = c.recv(65536)
        if not d:
            sys.exit(f'early end at {total}')
        total += len(d)
        h.update(d)
    c.sendall(h.hexdigest().encode())
    c.recv(1)
else:
    data = bytes(i * 7 + (i >> 9) & 255 for i in range(size))
    c = socket.create_connection((address, port))
    c.sendall(data)
    got = b''
    while len(got) < 64:
        d = c.recv(64)
        if not d:
            sys.exit('no answer')
        got += d
    sys.exit(got.decode() != hashlib.sha256(data).hexdigest())
