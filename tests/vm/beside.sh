#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# cpus: 2
# timeout: 240
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# Processes make the kernel's lists long, again and again. Other traffic makes progress
# and is right meanwhile. Its speed: make bench B=neighbours.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

for what in flush resize timers rnr contexts answer revoke destroy; do
	start a "$lib_tmp/hostile" "longest $what 10000"
	hostile=$started
	run_ok "traffic beside $what" in_a verbs_verify -n 60 -m 1024 -q 2
	kill -0 "$hostile" 2>/dev/null && alive=1 || alive=0
	[ $alive = 1 ] || lib_show "$lib_tmp/hostile"
	expect "... which goes on" $alive 1
	stop "$hostile"
done

# on one CPU most retries are left to the lane's thread, which shares the CPU
cpu=/sys/devices/system/cpu/cpu1/online
[ ! -e $cpu ] || echo 0 >$cpu
timer=$(counter "$DEV_A" timer_turns) lane=$(counter "$DEV_A" lane_turns)
run_ok "queue pairs that retry each 10 us, on one CPU" in_a longest rnr 5
timer=$(($(counter "$DEV_A" timer_turns) - timer)) lane=$(($(counter "$DEV_A" lane_turns) - lane))
expect_that "... of $timer expiries $lane are served by the thread" "2 * lane > timer"
[ ! -e $cpu ] || echo 1 >$cpu
