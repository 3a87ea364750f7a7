#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: interop
# timeout: 200
# kernels: 6.1 6.12
# once: 6.12
# nvdimm: 256M
#
# Congestion control of cairn's queue pairs, with a peer that does not support it.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

CAPTURE=${BASH_SOURCE[0]%/*}/capture.py

# seen SOURCE KIND ECN: frames
seen() { awk -v of="^$1 $2 $3:" '$0 ~ of { n += $NF } END { print n + 0 }' "$lib_tmp/capture"; }

# traffic NAME
traffic() {
	start b "$lib_tmp/capture" "exec $CAPTURE ecn $IF_B"
	watcher=$started
	wait_for 20 grep -q ready "$lib_tmp/capture"
	run_ok "$1: RC" verbs_verify -n 60
	run_ok "$1: UC" verbs_verify -c uc -n 60 -s 8000
	kill -TERM -- "-$watcher"
	wait_for 20 grep -q missed= "$lib_tmp/capture"
	stop "$watcher"
	diag "$(cat "$lib_tmp/capture")"
	expect "$1: all was seen" "$(sed -n 's/^missed=//p' "$lib_tmp/capture")" 0
	expect "$1: the peer has no notifications" "$(seen $IP_A CNP '[0-3]')" 0
	expect_that "$1: nor ECN-capable packets" \
		"$(seen $IP_A data 0) > 50 && $(seen $IP_A data '[1-3]') == 0"
}

run_ok "a device controls its queue pairs" in_b cairn_set "$DEV_B" congestion-control=on
before=$(counter "$DEV_B" cnps_received)
traffic "controlled"
expect_that "data packets are ECN-capable" \
	"$(seen $IP_B data 2) > 50 && $(seen $IP_B data '[013]') == 0"
expect_that "acknowledgements are not" \
	"$(seen $IP_B ack 0) > 10 && $(seen $IP_B ack '[1-3]') == 0"
expect "nothing was cut" "$(counter "$DEV_B" cnps_received)" "$before"

# mark every packet that can be marked
if in_b nft -f - <<-END; then
	table ip cairn {
		chain c {
			type filter hook output priority 0;
			udp dport 4791 ip ecn ect0 ip ecn set ce
		}
	}
	END
	traffic "marked"
	expect_that "data packets arrive with marks" \
		"$(seen $IP_B data 3) > 50 && $(seen $IP_B data '[012]') == 0"
	in_b nft delete table ip cairn
else
	skip "marked" "no nftables"
fi
run_ok "the device as it was" in_b cairn_set "$DEV_B" congestion-control=off
