#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 540
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
# dmesg-allow: memcg invoked oom-killer
# dmesg-allow: [Oo]ut of memory
# dmesg-allow: Call Trace:
#
# Is all memory charged that a process makes the kernel hold? A process with a memory
# limit takes as much as it can of each resource. The out-of-memory killer of its group
# prints a call trace, also when it finds no process to kill.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=$((150 * ${CAIRN_TIMEOUT_SCALE:-1}))
# The first group with this controller patches the allocator's code, which an emulator
# with two CPUs does not survive under traffic.
group=/sys/fs/cgroup/cairn_memcg
echo +memory >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null && mkdir "$group" ||
	skip_all "no memory cgroups"
mkdir "${group%/*}/cairn_gone" && points odp_gone
rmdir "${group%/*}/cairn_gone"
start a "$lib_tmp/bystander" "verbs_verify -T 100000 -m 1024 -q 1 -s 4000 -w 100 -p 5"
bystander=$started
wait_for 30 grep -q running "$lib_tmp/bystander" || bail "no traffic"
points nsenter --net=/run/netns/a memcg
kill -0 "$bystander" 2>/dev/null && alive=1 || alive=0
expect "other traffic goes on" $alive 1
stop "$bystander"
no_qps() { ! rdma resource show qp link "$DEV_A" | grep -q 'type RC'; }
wait_for 30 no_qps && gone=1 || gone=0
expect "no queue pair is left" $gone 1
rmdir "$group"
# a refused allocation of a process at its limit writes no line into the log
if [ -d /sys/kernel/debug/failslab ]; then
	skip "no allocation is reported to the log" "the module is built without __GFP_NOWARN"
else
	expect "no allocation is reported to the log" "$(dmesg | grep -c 'vmalloc error')" 0
fi
