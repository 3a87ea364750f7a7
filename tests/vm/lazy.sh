#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# cpus: 1
# timeout: 300
# boot: shared
#
# Posts on the only CPU: they wait for a poll, or for the lane's lazy thread. None is lost
# if the process never polls, sleeps or ends. Events of others wait, too.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

# rings ARGUMENT...: doorbells of 2000 posts
rings() {
	local before

	before=$(counter "$DEV_A" doorbells)
	run_ok "stream: $*" "$@" lazy stream
	rung=$(($(counter "$DEV_A" doorbells) - before))
	diag "$rung doorbells"
}

if realtime; then
	skip "posts wait for a poll" "PREEMPT_RT"
else
	rings env
	expect_that "posts wait for a poll" "rung < 2000 / 8"
fi
rings chrt -f 1
expect_that "those of a thread of realtime priority ring" "rung >= 2000"
idle_time 0
rings env
expect_that "idle time 0: all ring" "rung >= 2000"
idle_time default
points lazy
