#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 400
# kernels: 6.12
# boot: shared
# dmesg-allow: Call Trace:
#
# Allocations fail, one after the other and at random. Only kernels with fault injection
# do that ("make debugtest"). With each injected fault they print a call trace.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

debug=/sys/kernel/debug
[ -d $debug/failslab ] || skip_all "no fault injection"
RUN_TIMEOUT=$((120 * ${CAIRN_TIMEOUT_SCALE:-1}))

# set KIND NAME=VALUE...
set_fault() {
	local kind=$1 pair

	shift
	for pair; do
		echo "${pair#*=}" >"$debug/$kind/${pair%%=*}"
	done
}

# the sites of ours at which an allocation failed, from the log
log=$lib_tmp/kmsg
cat /dev/kmsg >"$log" 2>/dev/null &
reader=$!

for kind in failslab fail_page_alloc fail_usercopy; do
	set_fault $kind probability=0 times=-1 verbose=2
done
set_fault failslab ignore-gfp-wait=N
set_fault fail_page_alloc ignore-gfp-wait=N ignore-gfp-highmem=N min-order=0

points nsenter --net=/run/netns/a faults verbs
ip link add fa type veth peer fb
ip link set fa up
points faults link fa
ip link del fa

# receiving and sending: below functions of the module, one in ten
base=$(awk '$1 == "cairn" { print $6 }' /proc/modules)
size=$(awk '$1 == "cairn" { print $2 }' /proc/modules)
set_fault failslab task-filter=N require-start="$base" \
	require-end="$(printf '0x%x' $((base + size)))" stacktrace-depth=32 probability=10
run_ok "traffic survives it when allocations fail" in_a verbs_verify -n 300
set_fault failslab probability=0
run_ok "all is well afterwards" in_a verbs_verify -n 100

kill $reader
diag "$(grep -c 'FAULT_INJECTION: forcing' "$log") faults"
# the first function of ours in each trace
sites=$(awk '/FAULT_INJECTION: forcing/ { want = 1 }
	want && match($0, /[a-z0-9_.]+\+0x[0-9a-f]+\/0x[0-9a-f]+ \[cairn\]/) {
		print substr($0, RSTART, RLENGTH); want = 0 }' "$log" | sort | uniq -c | sort -rn)
diag "$sites"
expect_that "many allocations of the module failed" "$(wc -l <<<"$sites") >= 20"
