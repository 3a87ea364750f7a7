#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# cpus: 2 (6.12)
# timeout: 540
# kernels: 6.1 6.12
# boot: reload
# dmesg-allow: cairn: memory stays pinned
#
# Memory is released while it is used in all ways: it is neither read nor written
# afterwards, no release waits for a peer, and no object stays behind.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

seconds=200
# nearly all of the test's time
[ -z "${CAIRN_SOAK:-}" ] || seconds=450
RUN_TIMEOUT=$((seconds * ${CAIRN_TIMEOUT_SCALE:-1}))

# counter NAME: of the target's device
counter() {
	cat "/sys/class/infiniband/$DEV_B/ports/1/hw_counters/$1"
}

# user-mode Linux has no function tracer, nor has the kernel with KCSAN
probe=1
case ${KVER:-} in uml | kcsan | rt) probe=0 ;; esac
# one CPU is held, another one looks
[ "$(nproc)" -gt 1 ] || probe=0
[ $probe = 0 ] || insmod "$(kmod cairn_delay)" || bail "no probe"
# in the network of a, but with the initial namespace's sysfs: parameters and
# counters are there
points nsenter --net=/run/netns/a release
if [ $probe = 1 ]; then
	rmmod cairn_delay
	expect "one advance took long, and is counted" "$(counter epoch_stuck)" 1
	reported=$(dmesg | grep -c 'cairn: memory stays pinned')
	expect "... and reported once" "$reported" 1
	expect "... with the queue pair that holds it" "$(dmesg | grep -c 'cairn: a run of QP [0-9]* holds it')" 1
fi
diag "$(counter mr_releases) releases, $(counter epoch_advances) advances, $(counter epoch_shared) found theirs done"
expect_that "late operations are refused and counted" "$(counter stale_keys) > 0"

# load: a process that releases under its own traffic, until killed
# shellcheck disable=SC2154
log=$lib_tmp/load
load() {
	start a "$log" "release load"
	wait_for 60 grep -q running "$log" && return
	not_ok "the load starts"
	lib_show "$log"
}

only_gsi() { ! rdma resource show qp | grep -Eq 'type (UC|RC)'; }
for _ in 1 2; do
	load
	kill -KILL "$started"
	wait "$started" 2>/dev/null
done
run_ok "killed processes leave no queue pair" wait_for 30 only_gsi
if rdma resource show mr | grep -q "$DEV_B"; then
	not_ok "... no region either"
	diag "$(rdma resource show mr)"
else
	ok "... no region either"
fi

load
run_ok "a region tells of the epoch" rdma resource show mr -dd
if output | grep -q 'epoch-busy'; then ok "... its runs"; else not_ok "... its runs"; fi
run_ok "the module is unloaded during all of it" rmmod cairn
stop "$started"
run_ok "the devices come back" modprobe cairn
links_again || bail "no devices"
run_ok "... and work" in_a verbs_verify -n 30

# the same with so many regions that there are caches: a line must be no hit after
# the advance
start a "$log" "release fill"
if wait_for 200 grep -q filled "$log"; then ok "many regions"; else not_ok "many regions"; fi
points nsenter --net=/run/netns/a env -u CAIRN_SOAK release released
expect_that "regions were found in a cache" "$(counter mr_cache_hits) > 0"
expect_that "... and in the table" "$(counter mr_cache_misses) > 0"
diag "$(counter mr_cache_hits) hits, $(counter mr_cache_misses) misses, $(counter mr_cache_evicts) evictions"
stop "$started"
