# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# The points of a test that is a shell script; sourced. The test sets "shown" to the files that
# a point which fails prints.

result_points=0
result_failed=0
shown=()

# result STATUS NAME: a point, which passes with 0
result() {
	result_points=$((result_points + 1))
	if [ "$1" = 0 ]; then
		echo "ok $result_points $2"
		return
	fi
	echo "not ok $result_points $2"
	[ ${#shown[@]} = 0 ] || cat "${shown[@]}" | head -n 200 | sed 's/^/# /'
	result_failed=1
}

# result_skip NAME REASON
result_skip() { result 0 "$1 # SKIP $2"; }

# the plan, and the end of the test
result_end() {
	echo "1..$result_points"
	exit $result_failed
}
