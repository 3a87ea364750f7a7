#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 300
# kernels: 6.12
#
# UC and UD go on when the receiver's side of this host keeps their packets: after a minute
# further ones are dropped, and they arrive again when the kept ones have gone.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=$((2 * RUN_TIMEOUT))	# the packets are kept for a minute
modprobe -a act_mirred cls_u32 sch_ingress sch_tbf dummy ||
	skip_all "no act_mirred, cls_u32, sch_ingress, sch_tbf or dummy"

# The receiver's side keeps packets before IP.
keeps() {
	ip -n b link add kept0 type dummy &&
		ip -n b link set kept0 up &&
		in_b tc qdisc add dev kept0 root tbf rate 8bit burst 5000 limit 1mb &&
		in_b tc qdisc add dev "$IF_B" ingress &&
		in_b tc filter add dev "$IF_B" ingress protocol ip u32 match ip protocol 17 0xff \
			action mirred egress redirect dev kept0
}

# In the text, a multiple of 1024 is in Kb.
kept_bytes() { in_b tc -j -s qdisc show dev kept0 | jq '.[0].backlog'; }

keeps || bail "no qdisc that keeps packets"
dropped=$(counter "$DEV_A" tx_dropped)
start a "$lib_tmp/uc" "exec slow_netdev -k -n 64"
uc=$started
start a "$lib_tmp/ud" "exec slow_netdev -k -u -q 2 -n 64"
ud=$started
run_ok "packets are kept: UC goes on" wait_for 90 grep -q sent "$lib_tmp/uc"
run_ok "packets are kept: UD goes on" wait_for 20 grep -q sent "$lib_tmp/ud"
diag "$(kept_bytes) kept, $(($(counter "$DEV_A" tx_dropped) - dropped)) packets dropped"
expect_that "further packets are dropped" "$(counter "$DEV_A" tx_dropped) > $dropped"
expect_that "few are kept" "$(kept_bytes) > 8192 && $(kept_bytes) < 2 * 65536"
in_b tc qdisc del dev "$IF_B" ingress
ip -n b link del kept0
expect_exit "packets arrive again, UC" 40 "$uc" 0
expect_exit "packets arrive again, UD" 40 "$ud" 0
diag "$(cat "$lib_tmp/uc" "$lib_tmp/ud")"
