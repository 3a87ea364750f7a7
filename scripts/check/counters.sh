#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Documentation/counters.rst comes from the list in engine/counters.h.
#   counters.sh          check that it does
#   counters.sh --write  make it so
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
header=$top/drivers/infiniband/sw/cairn/engine/counters.h
page=$top/Documentation/counters.rst

rows() {
	{
		cat "$header"
		echo '#define X(id, name, doc) ROW name doc'
		echo 'CAIRN_COUNTERS(X)'
	} | ${CC:-cc} -E -P -x c - | sed 's/ROW /\nROW /g' |
		sed -n 's/^ROW \([a-z_]*\) "\(.*\)" *$/\1\t\2/p' |
		sed 's/" *"//g'
}

generate() {
	cat <<'EOT'
.. SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
.. Made by scripts/check/counters.sh --write from engine/counters.h.

========
Counters
========

``rdma statistic show link DEVICE/1`` shows them, as does
``/sys/class/infiniband/DEVICE/ports/1/hw_counters``. Each is a sum over the
CPUs since the device was made.

``rdma statistic qp bind link DEVICE/1 lqpn NUMBER`` gives a queue pair a counter of its
own, ``rdma statistic qp set link DEVICE/1 auto pid on`` each process one for its new
queue pairs; ``rdma statistic qp show`` shows them. They have what the protocol counts
for these queue pairs. Packets, trains and bytes of the network are counted for the
device only, as a train can be of several.

EOT
	rows | while IFS=$'\t' read -r name doc; do
		printf '``%s``\n    %s.\n\n' "$name" "${doc^}"
	done | sed '$d'
}

if [ "${1:-}" = --write ]; then
	generate >"$page"
elif ! generate | cmp -s - "$page"; then
	echo "Documentation/counters.rst is not what engine/counters.h says:" \
		"run scripts/check/counters.sh --write"
	exit 1
fi
