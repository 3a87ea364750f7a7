#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# cpus: 2
# timeout: 540
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# Posts without system calls: the edge of sleep, a busy queue under strace, a fair
# share beside large messages, no CPU time afterwards, doorbells for every post, and
# the idle time of a device. CAIRN_SOAK=1: a million posts at the edge of sleep.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=$((150 * ${CAIRN_TIMEOUT_SCALE:-1}))
edge=8000
busy=10000
if [ "${CAIRN_SOAK:-0}" = 1 ]; then
	edge=1000000
	busy=100000
	RUN_TIMEOUT=3600
fi

mapfile -t lanes < <(pgrep '^cairn/')
expect_that "lanes are found" "${#lanes[@]} > 0"

# CPU time of the lanes, in clock ticks
lane_ticks() {
	local lane sum=0 line

	for lane in "${lanes[@]}"; do
		line=$(<"/proc/$lane/stat")
		# shellcheck disable=SC2086
		set -- ${line##*) }
		sum=$((sum + ${12} + ${13}))
	done
	echo $sum
}

# how often the lanes have given up their CPUs: once each time they sleep
lane_switches() {
	local lane sum=0 key n

	for lane in "${lanes[@]}"; do
		while read -r key n; do
			[[ $key != *voluntary_ctxt_switches: ]] || sum=$((sum + n))
		done <"/proc/$lane/status"
	done
	echo $sum
}

lanes_sleep() {
	local lane

	for lane in "${lanes[@]}"; do
		[[ $(<"/proc/$lane/status") == *$'\nState:'*[IS]\ \(* ]] || return 1
	done
}

# awake NAME ARITHMETIC: on one CPU no lane looks for posts by itself, nor with PREEMPT_RT
awake() {
	if [ "$(nproc)" = 1 ] || realtime; then
		skip "$1" "one CPU or PREEMPT_RT"
	else
		expect_that "$@"
	fi
}

idle_time 200
polled=$(counter "$DEV_A" polled_posts)
slept=$(counter "$DEV_A" lane_sleeps)
reads=$(counter "$DEV_A" qinfo_misses)
points doorbell race $edge
reads=$(($(counter "$DEV_A" qinfo_misses) - reads))
# posts come in lists of 4.5 on average; the lane looks after a report, and never else
expect_that "$reads reads of queue info for $edge posts" "3 * reads < 2 * edge"
# a host with much other work may leave the lanes no time between two posts
for ((try = 0; try < 20 && $(counter "$DEV_A" polled_posts) <= polled; try++)); do
	doorbell race 500 >/dev/null
done
awake "lanes were awake for posts" \
	"$(counter "$DEV_A" polled_posts) > polled"
awake "and slept" "$(counter "$DEV_A" lane_sleeps) > slept"

idle_time 1000000
# shellcheck disable=SC2154
run_ok "a busy queue" strace -f -e trace=ioctl -o "$lib_tmp/trace" doorbell busy $busy
expect "its beginning and end were traced" "$(grep -c 'ioctl(-1,' "$lib_tmp/trace")" 2
calls=$(awk '/ioctl\(-1,/ { on = !on; next } on' "$lib_tmp/trace" | wc -l)
diag "$calls system calls"
# posts come in lists of 8; other tasks on these CPUs make the lane yield
awake "most lists need no system call" "calls < busy / 16"
points doorbell share

# after the idle time lanes sleep, and nothing wakes them
idle_time 1000
points doorbell race 500
wait_for 30 lanes_sleep
ticks=$(lane_ticks)
switches=$(lane_switches)
expect_that "lanes are counted" "switches > 0"
for _ in {1..20}; do
	nap
done
expect "sleeping lanes use no CPU" "$(lane_ticks)" "$ticks"
expect "and nothing wakes them" "$(lane_switches)" "$switches"

idle_time 0
polled=$(counter "$DEV_A" polled_posts)
points doorbell race 500
expect "idle time 0: every post rings" "$(counter "$DEV_A" polled_posts)" "$polled"
points idle

# more than a lane looks at in one go
idle_time 1000000
limits=$(counter "$DEV_A" lane_poll_limits)
run_ok "one of 300 contexts that are polled posts on" nsenter --net=/run/netns/a longest contexts
# a lane polls only while no other task wants its CPU, which a busy host may prevent once
for _ in {1..4}; do
	[ "$(counter "$DEV_A" lane_poll_limits)" = "$limits" ] || break
	nsenter --net=/run/netns/a longest contexts >"$lib_tmp/out" 2>&1 || lib_show "$lib_tmp/out"
done
awake "... and a lane yields among them" "$(counter "$DEV_A" lane_poll_limits) > limits"
idle_time default
