#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 240
# kernels: 6.1 6.12
# once: 6.12
#
# libfabric of the distribution over verbs: its connected endpoints, and its reliable
# datagrams on top of them. fi_pingpong also has a TCP connection of its own.
# CAIRN_SOAK=1: a hundred short runs of reliable datagrams.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

command -v fi_pingpong >/dev/null || skip_all "no fi_pingpong: run 'make deps'"
PAIR_TIMEOUT=$((PAIR_TIMEOUT * 2))

knows() { fi_info -p verbs -d "$1" | grep -qE "^ +domain: $1\$"; }
both_known() { knows "$DEV_A" && knows "$DEV_B"; }

run_ok "fi_info knows both devices" both_known

# sizes of 64 bytes to 1 MiB
pair_run "connected endpoints" "exec fi_pingpong -p verbs -e msg -d $DEV_B -I 20 -c" \
	"exec fi_pingpong -p verbs -e msg -d $DEV_A -I 20 -c $IP_B"
# Reliable datagrams are connections of libfabric's own. A program that sees the
# end event before the last message never gets the message: tests/vm/src/preload/cm.c.
rdm() {
	local rxm="exec env LD_PRELOAD=$PROGS/cm_preload.so fi_pingpong -p 'verbs;ofi_rxm' -e rdm"

	pair_run "reliable datagrams, $1" "$rxm -d $DEV_B $1" "$rxm -d $DEV_A $1 $IP_B"
}
rdm "-I 20 -c"
times=2
[ "${CAIRN_SOAK:-0}" != 1 ] || times=100
for ((i = 0; i < times; i++)); do
	rdm "-I 2 -S 64"
done
# each run makes and ends a connection: both ends must notice
for i in 1 2 3; do
	pair_run "connected endpoints, again $i" \
		"exec fi_pingpong -p verbs -e msg -d $DEV_B -I 2 -S 64" \
		"exec fi_pingpong -p verbs -e msg -d $DEV_A -I 2 -S 64 $IP_B"
done
