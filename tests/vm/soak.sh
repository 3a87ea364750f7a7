#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 90000
# kernels: 6.1 6.12
# boot: soak
# dmesg-allow: smpboot: CPU|Booting Node
#
# Everything at once, for CAIRN_SOAK_SECONDS (default: an hour): make stress T=soak.
# One pair of devices carries traffic whose contents are compared. It must not fail beside
# loss, fuzzers, resizes, releases, rate limits, tools, a CPU that is unplugged, and
# pressure on memory. The link of a second pair goes down and up, too. At the end the
# kernel has as much memory in use as after the first quarter.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

seconds=${CAIRN_SOAK_SECONDS:-3600}
stop_file=$lib_tmp/stop
modprobe sch_netem

# kB of the kernel that cannot be reclaimed
kernel_memory() { awk '/^(SUnreclaim|VmallocUsed|Percpu|KernelStack):/ { n += $2 } END { print n }' /proc/meminfo; }

# within SECONDS COMMAND...: a program or a function
within() {
	local pid rc=0

	set -m
	(set +m && "${@:2}") </dev/null &
	pid=$!
	set +m
	lib_wait "$1" $pid || rc=$?
	[ $rc != 124 ] || stop $pid
	return $rc
}

# again NAME COMMAND...: repeat it until the end, and count failures
declare -A pids
again() {
	local name=$1

	shift
	(
		trap - EXIT TERM INT
		n=0 failed=0
		while [ ! -e "$stop_file" ]; do
			n=$((n + 1))
			within $((300 * ${CAIRN_TIMEOUT_SCALE:-1})) "$@" >"$lib_tmp/$name.out" 2>&1 || {
				failed=$((failed + 1))
				cp "$lib_tmp/$name.out" "$lib_tmp/$name.failed"
			}
			echo "$n $failed" >"$lib_tmp/$name.count"
		done
	) &
	pids[$name]=$!
}

tool_pair() {
	local server rc=0

	in_b timeout 120 bash -c "$1" >/dev/null 2>&1 &
	server=$!
	sleep 3
	in_a timeout 100 bash -c "$2" || rc=$?
	kill $server 2>/dev/null
	wait $server
	return $rc
}

packets() (
	set -o pipefail
	in_a fuzz_packets -t 20 | tee -a "$lib_tmp/packets"
)

loss() {
	tc -n b qdisc replace dev vb root netem loss 0.5% delay 50us 20us reorder 1%
	sleep 7
	tc -n b qdisc del dev vb root
	sleep 5
}

flaps() {
	ip -n b link set wb down
	sleep 1
	ip -n b link set wb up
	sleep 4
}

hotplug() {
	echo 0 >/sys/devices/system/cpu/cpu1/online
	sleep 3
	echo 1 >/sys/devices/system/cpu/cpu1/online
	sleep 5
}

pressure() {
	dd if=/dev/zero of=/dev/shm/soak bs=1M count=600 2>/dev/null
	rm /dev/shm/soak
	echo 2 >/proc/sys/vm/drop_caches
	sleep 3
}

# links go down and up while they are used; programs on them may fail
second_pair() {
	in_a rdma link add cairn_c type cairn netdev wa || return
	in_b rdma link add cairn_d type cairn netdev wb || return
	CAIRN_A=cairn_c CAIRN_B=cairn_d in_a timeout 10 verbs_verify -T 8 -m 1024 >/dev/null 2>&1
	rdma link delete cairn_c && rdma link delete cairn_d
}

ip link add wa netns a address 02:00:00:79:00:01 type veth \
	peer wb netns b address 02:00:00:79:00:02
ip -n a addr add 10.80.0.1/24 dev wa
ip -n b addr add 10.80.0.2/24 dev wb
ip -n a link set wa up
ip -n b link set wb up

# shellcheck disable=SC2154
start a "$lib_tmp/verify" "verbs_verify -T $seconds -m 1024 -q 4 -s 9000 -w 200"
verify=$started
again fuzz_verbs in_a fuzz_verbs -t 20
again fuzz_packets packets
again resize in_a resize 5
again release nsenter --net=/run/netns/a env -u CAIRN_SOAK CAIRN_LOSS=1 release
again rate in_a rate -r 5000 -b 40960 -s 100000
again rping tool_pair "rping -s -C 200 -V -a $IP_B" "rping -c -C 200 -V -a $IP_B"
again perftest tool_pair "ib_write_bw -d $DEV_B -F -n 500 -p 19000" \
	"ib_write_bw -d $DEV_A -F -n 500 -p 19000 $IP_B"
again loss loss
again flaps flaps
[ ! -e /sys/devices/system/cpu/cpu1/online ] || again hotplug hotplug
again pressure pressure
again second_pair second_pair

began=$SECONDS
quarter=0
while [ $((SECONDS - began)) -lt "$seconds" ] && kill -0 "$verify" 2>/dev/null; do
	sleep 5
	if [ "$quarter" = 0 ] && [ $((SECONDS - began)) -gt $((seconds / 4)) ]; then
		quarter=$(kernel_memory)
	fi
done
: >"$stop_file"
lib_wait $((300 * ${CAIRN_TIMEOUT_SCALE:-1})) "$verify" && rc=0 || rc=$?
lib_show "$lib_tmp/verify" 3
expect "compared traffic lasted for $seconds s" "$rc" 0
diag "packets sent: $(counter "$DEV_A" tx_packets) and $(counter "$DEV_B" tx_packets)"
diag "packets forged: $(awk '/ packets in / { n += $1 } END { print n + 0 }' "$lib_tmp/packets")"
for name in "${!pids[@]}"; do
	wait "${pids[$name]}"
	read -r n failed <"$lib_tmp/$name.count"
	diag "$name: $n times, $failed failed"
	[ ! -e "$lib_tmp/$name.failed" ] || {
		grep -B 6 '^not ok' "$lib_tmp/$name.failed" >"$lib_tmp/why"
		lib_show "$lib_tmp/why" 20
		lib_show "$lib_tmp/$name.failed" 5
	}
	case $name in
	rate | rping | perftest) ;; # these tools give up over a bad network
	*) expect "$name" "$failed" 0 ;;
	esac
done
tc -n b qdisc del dev vb root 2>/dev/null
rdma link delete cairn_c 2>/dev/null
rdma link delete cairn_d 2>/dev/null
ip -n a link del wa
none_left() { ! rdma resource show qp | grep -qE 'type (RC|UC|UD).*comm'; }
run_ok "no object is left" wait_for 60 none_left
echo 3 >/proc/sys/vm/drop_caches
sleep 5
now=$(kernel_memory)
diag "kernel memory: $quarter kB after a quarter, $now kB at the end"
expect_that "memory is flat" "$now < $quarter + 20000"
run_ok "the devices work as before" in_a verbs_verify -n 100
