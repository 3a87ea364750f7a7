#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Documentation/counters.rst comes from the list in engine/counters.h, and that list fits
# into a message of "rdma statistic".
#   counters.sh          check both
#   counters.sh --write  make it so
#   counters.sh --list   name, tabulator, meaning
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
CPUs since the device was made. ib_core has one page for its answer to ``rdma statistic``.
Where 64-bit values in messages must be aligned (user-mode Linux, and some architectures;
not x86 and not arm64) all counters are too many for it, and the tool says "Message too
long"; sysfs has them.

ib_core makes these files for one network namespace, the initial one. With ``rdma system set
netns exclusive`` it is that of the device. Programs that read files see no counters in the
others: ``ib_write_bw --report-counters=hw_counters/tx_packets`` says "Unable to access
performance counters". ``rdma statistic`` works in all of them.

``rdma statistic qp bind link DEVICE/1 lqpn NUMBER`` gives a queue pair a counter of its
own. ``rdma statistic qp set link DEVICE/1 auto pid on`` gives each process one for its new
queue pairs. ``rdma statistic qp show`` shows them. They have what the protocol counts
for these queue pairs. Packets, trains and bytes of the network are counted for the
device only, as a train can be of several.

EOT
	rows | while IFS=$'\t' read -r name doc; do
		printf '``%s``\n    %s.\n\n' "$name" "${doc^}"
	done | sed '$d'
}

# ib_core answers for all counters in one page, or not at all. The page has headers, the
# longest name of a device, and for each counter its name and 64 bits. The 64 bits need no
# alignment here; in user-mode Linux they do, and there the page is too small.
message_size() {
	rows | awk -F '\t' '{ size += 4 + 4 + int((length($1) + 4) / 4) * 4 + 12 }
		END { print size + 104 }'
}
if [ "${1:-}" = --list ]; then
	rows
	exit
fi
if [ "$(message_size)" -gt 3776 ]; then
	echo "engine/counters.h: $(message_size) bytes are too many for a message of" \
		"\"rdma statistic\", which has 3776: take one away, or shorten names"
	exit 1
fi
if [ "${1:-}" = --write ]; then
	generate >"$page"
elif ! generate | cmp -s - "$page"; then
	echo "Documentation/counters.rst is not what engine/counters.h says:" \
		"run scripts/check/counters.sh --write"
	exit 1
fi
