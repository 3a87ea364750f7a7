#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 150
# kernels: 6.1 6.12
# once: 6.12
#
# UCX of the distribution, on which Open MPI runs: its datagrams alone, and with reliable
# connections that they set up. Before 1.17 it takes a datagram for IPv6 unless the
# completion's SL says otherwise.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

command -v ucx_perftest >/dev/null || skip_all "no ucx_perftest: run 'make deps'"
PAIR_TIMEOUT=$((PAIR_TIMEOUT * 2))

# ucx NAME TRANSPORTS ADDRESS ARG...
ucx() {
	local name=$1 tls=$2 ip=$3 opt="-p 13337 -n 50 -w 5"

	shift 3
	# shellcheck disable=SC2145
	pair_run "$name" \
		"UCX_TLS=$tls UCX_NET_DEVICES=$DEV_B:1 exec ucx_perftest -p 13337" \
		"UCX_TLS=$tls UCX_NET_DEVICES=$DEV_A:1 exec ucx_perftest $ip $opt $*"
}

ucx "datagrams" ud $IP_B -t tag_lat -s 8
ucx "datagrams, long messages" ud $IP_B -t tag_bw -s 100000
ucx "connections" rc,ud $IP_B -t tag_bw -s 100000
ucx "one-sided over connections" rc,ud $IP_B -t ucp_put_lat -s 64
