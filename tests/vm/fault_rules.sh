#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 120
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# CAIRN_FAULT: programs that people use meet the errors that were asked for.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"

find_gids
# fails RULES PATTERN: a ping-pong with itself ends with an error, and says this
fails() {
	run_fail "$1" in_a env "CAIRN_FAULT=$1" timeout 60 \
		ibv_rc_pingpong -d "$DEV_A" -g "${gid_a[4]}" -n 100
	expect_that "$1: $2" "$(output | grep -c "$2") > 0"
}

fails "reg_mr say" "Couldn't register MR"
fails "create_qp:nth=1,error=EPERM say" "cairn-fault: create_qp 1 ends with EPERM"
fails "create_cq" "Couldn't create CQ"
fails "post_send:nth=0" "is no rule"

# a client in a, whose server in b is without faults
start b "$lib_tmp/server" "exec timeout 60 ibv_rc_pingpong -d $DEV_B -g ${gid_b[4]} -n 100"
server=$started
wait_for 30 in_b sh -c 'ss -ltn | grep -q :18515'
run_fail "a completion fails" in_a env "CAIRN_FAULT=send:nth=50,status=RNR_RETRY_EXC_ERR" \
	timeout 60 ibv_rc_pingpong -d "$DEV_A" -g "${gid_a[4]}" -n 100 "$IP_B"
# shellcheck disable=SC2154
expect_that "... with the status that was asked for" \
	"$(output | grep -c 'RNR retry counter exceeded') > 0"
stop "$server"
pingpong rc 4 -n 20
