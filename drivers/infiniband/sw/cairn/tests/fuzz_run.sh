#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Run a libFuzzer program for a bounded time; KTAP. New inputs are kept in the
# corpus, a failing input beside it.
#
#   fuzz_run.sh program seconds corpus
set -u

program=$1 seconds=$2 corpus=$3
name=${program##*/}

echo "KTAP version 1"
echo "1..1"
if [ ! -x "$program" ]; then
	echo "ok 1 $name # SKIP no clang with libFuzzer"
	exit 0
fi
mkdir -p "$corpus"
log=$("$program" -max_total_time="$seconds" -max_len=4400 -len_control=0 \
	-timeout=20 -artifact_prefix="$corpus-failed-" -print_final_stats=1 "$corpus" 2>&1)
status=$?
if [ $status = 0 ]; then
	grep -E 'number_of_executed_units|new_units_added|^packets:' <<<"$log" |
		sed 's/^/# /'
	echo "ok 1 $name"
else
	tail -n 40 <<<"$log" | sed 's/^/# /'
	echo "not ok 1 $name"
fi
exit $status
