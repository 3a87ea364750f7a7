#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 600
# kernels: 6.1 6.12
# once: 6.12
# icount: yes
#
# Work that a process or a peer can make long is done in bounded parts. The tracer
# measures functions that run with interrupts or soft interrupts off. Time is the number
# of instructions here, 1 ns each, so the load of the host does not matter. The budget is
# 1 ms where 100 system calls take 33 us.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=$((60 * ${CAIRN_TIMEOUT_SCALE:-1}))
trace=/sys/kernel/tracing
[ -e $trace/set_graph_function ] || skip_all "no function_graph tracer"
functions="exec_run lane_timer_expired drain_after_rx rx_hook4 cairn_watches_poll
	cairn_watches_rest cairn_sq_resize cairn_sq_fits cairn_comp_flush cairn_comp_reap
	cairn_comp_flush_sqe cairn_resp_release cairn_resp_revoke cairn_next_ring_move
	cairn_rq_resize"

calibrated=$(longest calibrate)
budget=$((calibrated * 1000 / 33000))
diag "100 system calls take $((calibrated / 1000)) us, so the budget is $budget us"

# a function that the compiler has inlined is not traced
for f in $functions; do
	echo "$f" >>$trace/set_ftrace_filter
done 2>/dev/null
echo 16384 >$trace/buffer_size_kb
# the end of a function that calls others prints its name
echo 1 >$trace/options/funcgraph-tail
echo function_graph >$trace/current_tracer

# the longest time of each function in the trace, us
longest_times() {
	awk '/us +\|/ {
		sub(/ \[cairn\]/, "")
		# "64.5 us | exec_run();" or "... | } /* exec_run */"
		us = f = ""
		for (i = 2; i <= NF; i++) {
			if ($i == "us")
				us = $(i - 1)
			if (f == "" && $i ~ /^[a-z]/ && $i != "us")
				f = $i
		}
		sub(/[^a-z_0-9].*/, "", f)
		if (f != "" && us + 0 > max[f])
			max[f] = us + 0
	}
	END { for (f in max) print f, int(max[f]) }' $trace/trace | sort
}

# the functions that each scenario makes long: they have to be among the measured ones
declare -A made_long=(
	[flush]="cairn_comp_flush exec_run" [resize]="cairn_rq_resize cairn_next_ring_move"
	[timers]="lane_timer_expired exec_run" [contexts]="exec_run rx_hook4"
	[answer]="cairn_comp_reap exec_run" [revoke]="cairn_resp_revoke rx_hook4"
	[crowd]="drain_after_rx rx_hook4" [group]="rx_hook4" [sqe]="cairn_comp_flush exec_run"
)

# Deadlines never come all at once, so a timer without a bound stays below the budget: it
# may have a quarter.
declare -A share=([timers]=4)

# measure one scenario; leaves functions that were too long, or not seen, in $too_long
measure() {
	local name us seen=" "

	echo >$trace/trace
	lib_run nsenter --net=/run/netns/a longest "$1" || {
		lib_show "$lib_tmp/out"
		return 1
	}
	too_long=
	while read -r name us; do
		diag "$1: $name $us us"
		[ $((us * ${share[$1]:-1})) -le "$budget" ] || too_long+=" $name"
		seen+="$name "
	done < <(longest_times)
	for name in ${made_long[$1]}; do
		[[ $seen == *" $name "* ]] || too_long+=" $name(not seen)"
	done
}

for what in flush resize timers contexts answer revoke crowd group sqe; do
	if measure "$what"; then
		expect "$what: no function takes longer than its budget" "$too_long" ""
	else
		not_ok "$what"
	fi
done
# Does the test notice a long function? Every function exceeds a negative budget.
budget=-1
measure resize && expect_that "a time beyond its budget is seen" "${#too_long} > 0"
echo 0 >$trace/options/funcgraph-tail
echo nop >$trace/current_tracer
echo >$trace/set_ftrace_filter
