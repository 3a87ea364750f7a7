#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 900
# kernels: debug gcov
# boot: own
# dmesg-allow: Call Trace:
# dmesg-allow: kmemleak: Cannot allocate a scan area
# dmesg-allow: Huh VM_FAULT_OOM leaked out to the #PF handler
# dmesg-allow: ref_tracker: memory allocation failure, unreliable refcount tracker
# dmesg-allow: cairn: Unknown symbol [a-z_]+ \(err -12\)
# dmesg-allow: at kernel/trace/trace_events.c:[0-9]+ event_
#
# Allocations and copies from and to processes fail, one after the other and at random,
# each allocation of the module at least once. This needs a kernel with fault injection
# ("make debugtest"), which prints a call trace for each injected fault. For that, the
# module is built without __GFP_NOWARN (scripts/bench/uml-debug.h). The kernel also warns
# when it has no memory for the tracepoints of a module.

# shellcheck source=scripts/vm/topology
. "$(dirname "$0")/../../scripts/vm/topology"
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

debug=/sys/kernel/debug
[ -d $debug/failslab ] || skip_all "no fault injection"
# each load of the module takes half a second, and one of its 800 allocations fails
RUN_TIMEOUT=$((240 * ${CAIRN_TIMEOUT_SCALE:-1}))

# set_fault KIND NAME=VALUE...
set_fault() {
	local kind=$1 pair

	shift
	for pair; do
		echo "${pair#*=}" >"$debug/$kind/${pair%%=*}"
	done
}

# all traces, for alloc_sites.py
log=$lib_tmp/kmsg
faults log "$log" &
reader=$!
wait_for 10 test -e "$log" || bail "no log"

for kind in failslab fail_page_alloc fail_usercopy; do
	set_fault $kind probability=0 times=-1 verbose=2
done
set_fault failslab ignore-gfp-wait=N
set_fault fail_page_alloc ignore-gfp-wait=N ignore-gfp-highmem=N min-order=0

# allocations NAME=VALUE...: the same for allocations of all kinds
allocations() {
	set_fault failslab "$@"
	set_fault fail_page_alloc "$@"
}

# within DEPTH: only if one of the DEPTH innermost functions is the module's
within() {
	local base size

	read -r base size < <(awk '$1 == "cairn" { print $6, $2 }' /proc/modules)
	allocations require-start="$base" stacktrace-depth="$1" \
		require-end="$(printf '0x%x' $((base + size)))"
}
# ... a function of the module, which is not inlined, calls in any depth
beneath() {
	local range

	range=$(awk '$4 == "[cairn]" && $2 ~ /[tT]/ { print $1, $3 }' /proc/kallsyms |
		sort | awk -v name="$1" 'found { print begin, $1; exit }
			$2 == name { begin = $1; found = 1 }')
	[ -n "$range" ] || bail "the module has no $1"
	allocations require-start="0x${range% *}" require-end="0x${range#* }" stacktrace-depth=32
}
# half NAME COMMAND...: while every second allocation beneath the function NAME fails
half() {
	beneath "$1"
	set_fault failslab probability=50
	"${@:2}"
	set_fault failslab probability=0
}
anywhere() { allocations require-start=0 require-end=0xffffffffffffffff; }

# thrice COMMAND: also three faults in a row, as allocators try another way after one
thrice() {
	allocations task-filter=Y probability=100
	FAULTS_TIMES=3 points "$@"
	allocations probability=0 task-filter=N times=-1
}

# queue pairs get counters
rdma statistic qp set link "$DEV_A/1" auto pid on
points nsenter --net=/run/netns/a faults verbs
thrice nsenter --net=/run/netns/a faults verbs
rdma statistic qp set link "$DEV_A/1" auto off

# ib_core makes thousands of files for a link: it takes seconds
ip link add fa type veth peer fb
ip link set fa up
# deeper calls would include ib_core's clients, with hundreds of receives of QP1
within 10
thrice faults link fa
anywhere
points faults link fa 1009
# the hooks of a namespace, of which some stay until it ends
ip netns add f
ip link set fa netns f up
beneath cairn_net_attach
thrice nsenter --net=/run/netns/f faults link fa
anywhere
ip netns del f

# receiving and sending
within 32

# survives NAME KIND PERCENT OPTION...: traffic over existing connections, while that
# many allocations of a kind fail
survives() {
	traffic_start -T $((5 * ${CAIRN_TIMEOUT_SCALE:-1})) "${@:4}"
	set_fault "$2" probability="$3"
	traffic_ends "$1"
	set_fault "$2" probability=0
}

survives "traffic survives it when memory is short" failslab 10
survives "... and pages are" fail_page_alloc 10
# a round trip has some eight allocations, and seven retries must suffice
TRAFFIC=persist_traffic survives "... and hosts that are to flush" failslab 8 -s 4000 -H -t 18
if modprobe sch_netem; then
	in_b tc qdisc add dev "$IF_B" root netem loss 3%
	in_a tc qdisc add dev "$IF_A" root netem loss 3%
	survives "... over a bad network" failslab 3 -t 18
	in_b tc qdisc del dev "$IF_B" root
	in_a tc qdisc del dev "$IF_A" root
fi
# each packet meets the rules, and fits none
for dev in "$DEV_A" "$DEV_B"; do
	run_ok "$dev gets fault rules" cairn_fault "$dev" add sent:qp=1 received:qp=1
done
for f in cairn_faulty_xmit rx_walk_faulty; do
	beneath $f
	survives "... when $f gets no memory" failslab 8 -t 18
done
for dev in "$DEV_A" "$DEV_B"; do
	run_ok "$dev has none any more" cairn_fault "$dev" clear
done
# memory that a queue pair allocates with its first requests
for f in cairn_env_more_records cairn_env_rd_alloc cairn_env_pending_alloc; do
	half $f run_ok "a connection whose $f fails now and then" in_a verbs_verify -n 100 -d 16
done
# pages that an advice finds
half cairn_odp_bring points nsenter --net=/run/netns/a faults verbs presents
# copies of a datagram for the members of a group
half cairn_exec_rx_copy points mcast copies_counted
anywhere
run_ok "all is well afterwards" in_a verbs_verify -n 100

# the module's own start
ko=$(modinfo -n cairn)
gone() {
	rdma link delete "$DEV_A"
	rdma link delete "$DEV_B"
	wait_for 30 module_gone
}
run_ok "the module is unloaded" gone
points faults load "$ko"
# twice: the loader's own allocations differ each time, and so does the n-th
thrice faults load "$ko"
thrice faults load "$ko"
back() {
	modprobe cairn && device_up a "$DEV_A" cairn "$IF_A" && device_up b "$DEV_B" cairn "$IF_B"
}
run_ok "and loaded again" back

kill $reader
wait $reader
expect "the log is complete" "$(grep -c '^faults: lost' "$log")" 0
diag "$(grep -c 'FAULT_INJECTION: forcing' "$log") faults"
points "$here/alloc_sites.py" "$ko" "$log"
