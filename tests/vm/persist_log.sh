#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 180
# kernels: 6.1 6.12
# nvdimm: 256M
#
# The example, a log on devdax and in a file, and what is left of it when its target
# is killed; the measuring tool in all its modes.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

[ -c /dev/dax0.0 ] || bail "no devdax"
size=4194304
acked=$lib_tmp/acked

# serve LOG MEMORY [OPTION]...: in b; ready when this returns
serve() {
	local log=$1 memory=$2

	shift 2
	start b "$log" "cairn_log serve -m $memory -s $size $*"
	wait_for 30 grep -q listening "$log" || lib_show "$log"
}

append() { run_ok "$1" in_a cairn_log append -a "$IP_B" -o "$acked" "${@:2}"; }
verify() { run_ok "$1" cairn_log verify -m "$2" -s $size -k "$3"; }

# the NVDIMM may have a log of an earlier test: records are added
serve "$lib_tmp/s1" /dev/dax0.0 -1
server=$started
append "devdax: records" -n 300
expect "the target names the domain" \
	"$(grep -c 'persistent memory, NIC flush' "$lib_tmp/s1")" 1
wait_for 30 lib_gone "$server"
last=$(($(cat "$acked")))
verify "devdax: all are there" /dev/dax0.0 $last
run_fail "devdax: one more is not" cairn_log verify -m /dev/dax0.0 -s $size -k $((last + 1))

serve "$lib_tmp/s2" "$lib_tmp/file" -1
server=$started
append "file: records by host flush" -n 100 -l 5000
wait_for 30 lib_gone "$server"
verify "file: all are there" "$lib_tmp/file" 100
serve "$lib_tmp/s3" "$lib_tmp/file" -1
server=$started
append "file: more records behind them" -n 50
wait_for 30 lib_gone "$server"
verify "file: all are there" "$lib_tmp/file" 150

serve "$lib_tmp/s4" anonymous -p 7472
expect "emulated: says so" "$(in_a cairn_log append -a "$IP_B" -p 7472 -n 10 |
	grep -c EMULATED)" 1
stop "$started"

# killed in the middle: what was reported is there, the writer gets an error
serve "$lib_tmp/s5" "$lib_tmp/file2"
server=$started
start a "$lib_tmp/w5" "cairn_log append -a $IP_B -n 1000000 -o $lib_tmp/acked2"
writer=$started
wait_for 60 test -s "$lib_tmp/acked2"
kill -KILL -- "-$server"
rc=0
lib_wait 100 "$writer" || rc=$?
expect "the writer learns of the death" $rc 1
verify "what was reported is there" "$lib_tmp/file2" $(($(cat "$lib_tmp/acked2")))

# measure NAME 'TARGET OPTION...' 'INITIATOR OPTION...'
measure() {
	PAIR_READY=listening pair_run "$1" "cairn_persist -d $DEV_B $2" \
		"cairn_persist -d $DEV_A -n 400 -j $3 $IP_B" && diag "$(output)"
	[ "$1" != persist ] || persist_line=$(output)
}

persist_line=
for mode in persist early write+read write+send; do
	measure "$mode" "-M /dev/dax0.0" "-m $mode"
done
expect_that "request packets of WRITE_PERSIST are counted" \
	"$(grep -o '"request_packets": [0-9]*' <<<"$persist_line" | cut -d ' ' -f 2) == 1"
measure "persist, host flush" "-k host" "-m persist"
