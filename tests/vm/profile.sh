#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 120
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# CAIRN_PROFILE: programs that people use meet the limits of another NIC.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"

find_gids
# devinfo PROFILE: what ibv_devinfo -v prints, without blanks
devinfo() {
	in_a env "CAIRN_PROFILE=$1" ibv_devinfo -v -d "$DEV_A" | tr -d ' \t'
}

# Each limit of each profile that is a name of ibv_devinfo is reported, or a lower one.
wrong=0 limits=0
for file in "$(dirname "$(readlink -f "$0")")"/../../userspace/profiles/*; do
	profile=${file##*/}
	devinfo "$profile" >"$lib_tmp/$profile"
	while read -r name value; do
		has=$(sed -n "s/^$name://p" "$lib_tmp/$profile")
		[ -n "$has" ] || continue
		limits=$((limits + 1))
		[ $((has)) -le $((value)) ] && continue
		diag "$profile: $name is $has, not $value"
		wrong=$((wrong + 1))
	done < <(grep '^max_' "$file" | grep -v max_mtu)
done
expect_that "limits of profiles are compared" "$limits > 50"
expect "no limit is exceeded" "$wrong" 0
expect "an e810 has no atomics" "$(grep -c ATOMIC_NONE "$lib_tmp/e810")" 1
expect "... no XRC, and no windows" "$(grep -cE '^(XRC|MEM_WINDOW)' "$lib_tmp/e810")" 0
expect "a small one has the MTU 1024" "$(grep -c '^max_mtu:1024' "$lib_tmp/small")" 1
devinfo '' >"$lib_tmp/plain"
expect_that "without a profile the device is as before" \
	"$(grep -c ATOMIC_HCA "$lib_tmp/plain") == 1 && $(sed -n 's/^max_sge://p' "$lib_tmp/plain") > 6"

# meets PROFILE NAME PATTERN COMMAND...: the program ends with an error that says this
meets() {
	local profile=$1 name=$2 pattern=$3

	shift 3
	run_fail "$profile: $name" in_a env "CAIRN_PROFILE=$profile" timeout 60 "$@"
	expect_that "$profile: ... and says so" "$(output | grep -cE "$pattern") > 0"
}
meets e810 "a UC ping-pong" "Couldn't create QP" ibv_uc_pingpong -d "$DEV_A" -g "${gid_a[4]}"
meets e810 "a ping-pong with an SRQ" "Couldn't create SRQ" ibv_srq_pingpong -d "$DEV_A" -g "${gid_a[4]}"
meets small "a queue of 500" "Couldn't create (CQ|QP)" ibv_rc_pingpong -d "$DEV_A" -g "${gid_a[4]}"
meets none "an unknown profile" "cairn-profile: .*/none: No such file" \
	ibv_rc_pingpong -d "$DEV_A" -g "${gid_a[4]}"
for profile in connectx3 connectx5 e810 fastlinq pvrdma; do
	CAIRN_PROFILE=$profile pingpong rc 4 -n 20
done
