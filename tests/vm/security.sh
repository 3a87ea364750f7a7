#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 540
# kernels: 6.1 6.12
# once: 6.12
# full: 6.12 (6.1: no MR cache)
# boot: shared
# dmesg-allow: Memory failure: 0x[0-9a-f]+: Sending SIGBUS to security
#
# A hostile process and hostile packets, next to traffic that must not notice.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=$((150 * ${CAIRN_TIMEOUT_SCALE:-1}))
# shellcheck disable=SC2154
log=$lib_tmp/bystander
start a "$log" "verbs_verify -T 100000 -m 1024 -q 2 -s 4000 -w 100 -p 5"
bystander=$started
if ! wait_for 30 grep -q running "$log"; then
	lib_show "$log"
	bail "no traffic to disturb"
fi
# in the network of a, but with the initial namespace's sysfs: counters are there
taken=$(kmod cairn_taken)
[ ! -e "$taken" ] || insmod "$taken" || bail "no module that counts bytes"
points nsenter --net=/run/netns/a security
[ ! -e "$taken" ] || rmmod cairn_taken
points nsenter --net=/run/netns/a keys
# the bystander stops at the first wrong byte or completion
kill -0 "$bystander" 2>/dev/null && alive=1 || alive=0
lib_show "$log" 3
expect "other traffic goes on" $alive 1
stop "$bystander"
run_ok "the devices work as before" in_a verbs_verify -n 100

# Rounds in one go are bounded, also where a side has to stay with its CPU. The module
# patches code, which must not run meanwhile.
idle() { ! rdma resource show qp | grep -q 'type RC'; }
rounds=$(kmod cairn_rounds)
if [ -e "$rounds" ]; then
	wait_for 30 idle
	insmod "$rounds" || bail "cairn_rounds finds no functions of cairn"
	run_ok "traffic while more work comes in each round" in_a verbs_verify -n 100
	wait_for 30 idle
	read -r bound </sys/module/cairn_rounds/parameters/bound
	read -r most </sys/module/cairn_rounds/parameters/most
	rmmod cairn_rounds
	expect_that "... for sides that are bound to a CPU" "$bound > 0"
	expect "... and a run has no more than its rounds" "$most" 8
else
	skip "rounds of a run" "no module for this kernel"
fi
