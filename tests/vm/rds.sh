#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: none
# timeout: 90
# kernels: 6.1 6.12
#
# RDS over RDMA: datagrams both ways between two sockets.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/ulp.sh
. "$(dirname "$0")/ulp.sh"

ulp_modules rds rds_rdma
ulp_up

# each datagram arrives whole, once, in order
datagrams() {
	timeout 50 python3 - $ULP_IP <<-'PY'
	import os, socket, sys
	ip = sys.argv[1]
	ends = []
	for port in (4000, 4001):
	    s = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET, 0)
	    s.bind((ip, port))
	    ends.append(s)
	sizes = [1, 64, 1000, 4096, 5000, 20000, 65536]
	for n in range(40):
	    a, b = ends if n % 2 else ends[::-1]
	    data = [os.urandom(size + n) for size in sizes]
	    for d in data:
	        a.sendto(d, b.getsockname())
	    for d in data:
	        got, who = b.recvfrom(1 << 20)
	        if got != d or who != a.getsockname():
	            sys.exit(f'{n}: {len(got)} bytes from {who}, not {len(d)}')
	PY
}

run_ok "datagrams both ways" datagrams
expect "they went through the device" "$(rdma resource show qp link $ULP_DEV |
	grep -c 'type RC state RTS' | sed 's/[1-9][0-9]*/some/')" some
run_ok "the module unloads" wait_for 30 rmmod rds_rdma
run_ok "no queue pair is left" wait_for 30 ulp_idle
ulp_down
rmmod rds
