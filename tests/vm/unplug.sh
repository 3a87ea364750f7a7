#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# cpus: 2
# timeout: 300
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# Devices are unplugged under load, in every way: the link, the netdev or the network
# namespace is deleted, or the netdev moves away. Their user gets errors and ends by
# itself, no object stays behind, and another pair of devices is not disturbed. Five
# times; CAIRN_SOAK=1: 1000. Then a process is killed, and devices go, with long send queues
# and during system calls (src/leaving.c). A process ends with little CPU time (src/crowd.c),
# and a CPU is unplugged.

# shellcheck source=scripts/vm/topology
. "$(dirname "$0")/../../scripts/vm/topology"
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

times=${CAIRN_UNPLUGS:-5}
[ -z "${CAIRN_SOAK:-}" ] || times=${CAIRN_UNPLUGS:-1000}
RUN_TIMEOUT=$((150 * ${CAIRN_TIMEOUT_SCALE:-1} + 30 * times))
patience=$((60 * ${CAIRN_TIMEOUT_SCALE:-1}))

plug() {
	ip netns add u1 && ip netns add u2 || return
	ip link add ua netns u1 mtu 9000 type veth peer ub netns u2 mtu 9000 || return
	ip -n u1 addr add 10.79.0.1/24 dev ua
	ip -n u2 addr add 10.79.0.2/24 dev ub
	ip -n u1 addr add fd79::1/64 dev ua nodad
	ip -n u2 addr add fd79::2/64 dev ub nodad
	ip -n u1 link set ua up && ip -n u2 link set ub up || return
	device_up u1 cairn_u cairn ua && device_up u2 cairn_v cairn ub || return
	# ib_core waits for a neighbour one second, and its first answer may be lost while
	# the links come up
	wait_for 30 knows u1 10.79.0.2 && wait_for 30 knows u1 fd79::2 &&
		wait_for 30 knows u2 10.79.0.1 && wait_for 30 knows u2 fd79::1
}

# knows NAMESPACE ADDRESS: its MAC address; asks for it
knows() {
	ip netns exec "$1" bash -c "echo >/dev/udp/$2/9"
	ip -n "$1" neigh show "$2" | grep -q lladdr
}

# Move the netdev to a namespace with a route to the peer and back, and delete that
# namespace at once.
move_away() {
	ip netns add u3
	ip -n u1 link set ua netns u3
	ip -n u3 link set ua up
	ip -n u3 addr add fd79::3/64 dev ua nodad
	ip -n u3 link set ua netns u1
	ip netns del u3
}

# unplug one end under load
unplug() {
	case $1 in
	0) rdma link delete cairn_v ;;
	1) ip -n u1 link del ua ;;
	2) ip netns del u2 ;;
	3) rdma link delete cairn_u ;;
	4) move_away ;;
	esac
}

no_devices() { [ ! -e /sys/class/infiniband/cairn_u ] && [ ! -e /sys/class/infiniband/cairn_v ]; }

# remove the rest of the pair
tidy() {
	rdma link delete cairn_u
	rdma link delete cairn_v
	ip netns del u1
	ip netns del u2
	wait_for 30 no_devices
} 2>/dev/null

# shellcheck disable=SC2317
under_way() { grep -q running "$log" || ! kill -0 "$user" 2>/dev/null; }

# The user runs in the initial namespace, so that it holds none of the others.
round() {
	local user log=$lib_tmp/load status=0

	plug || return
	# remove the output of the last user
	: >"$log"
	# shellcheck disable=SC2154
	CAIRN_A=cairn_u CAIRN_B=cairn_v timeout -s KILL "$patience" \
		verbs_verify -T 100000 -E -w 600 -m 1024 -q 2 $2 >"$log" 2>&1 &
	user=$!
	wait_for 60 under_way && grep -q running "$log" && unplug "$1" && wait $user || status=$?
	kill -KILL $user 2>/dev/null
	[ $status = 0 ] || echo "unplugged by $1${2:+, $2}: $status: $(tail -n 3 "$log")"
	tidy || return
	return $status
}

rounds() {
	local i way options

	for ((i = 0; i < times; i++)); do
		way=$((i % 5)) options=
		((i / 5 % 2 == 0)) || options=-e
		((way != 4)) || options+=" -f 6"
		round $way "$options" || return
	done
}

# The function tracer, which some kernels lack, counts waits for grace periods.
tracing=/sys/kernel/tracing
waits=synchronize_rcu
can_count() { [ -e $tracing/set_ftrace_filter ]; }
count_begin() {
	printf '%s\n' $waits ${waits}_expedited >$tracing/set_ftrace_filter
	echo function >$tracing/current_tracer
}
count_end() {
	grep "$waits.*<-" $tracing/trace | sed 's/.*: //' | sort | uniq -c
	echo nop >$tracing/current_tracer
	echo >$tracing/set_ftrace_filter
}

# A process can post more than can be sent in seconds. Posted requests are not sent before
# its device goes, nor after it was killed. Nor is there a grace period for each queue pair.
queues=400
packets=$((queues * 512))
device_goes() { rdma link delete cairn_u; }
# shellcheck disable=SC2317
user_goes() {
	local before

	before=$(counter cairn_u loopback_packets)
	kill -KILL "$started"
	wait "$started" 2>/dev/null
	sleep 0.05
	echo "sent $(($(counter cairn_u loopback_packets) - before))"
}

# backlog_ends device_goes|user_goes: prints the milliseconds and a line for each caller
backlog_ends() {
	local log=$lib_tmp/backlog from

	start host "$log" "env CAIRN_B=cairn_u backlog $queues"
	wait_for 60 grep -q ready "$log" || { lib_show "$log"; return 1; }
	! can_count || count_begin
	kill -USR1 "$started"
	wait_for 60 grep -q posted "$log" || { lib_show "$log"; return 1; }
	from=${EPOCHREALTIME/./}
	"$1" || return
	echo "took $(((${EPOCHREALTIME/./} - from) / 1000))"
	! can_count || count_end
	stop "$started"
}

# try_backlog NAME device_goes|user_goes
try_backlog() {
	local took counted

	run_ok "$1" backlog_ends "$2"
	took=$(output | sed -n 's/^took //p')
	sent=$(output | sed -n 's/^sent //p')
	counted=$(output | awk "/$waits/ { n += \$1 } END { print n + 0 }")
	diag "$took ms, $counted grace periods${sent:+, $sent of $packets packets}"
	expect_that "... soon" "$took < 3000 * ${CAIRN_TIMEOUT_SCALE:-1}"
	if can_count; then
		expect_that "... with few grace periods" "$counted > 0 && $counted < $queues / 4"
	else
		skip "... with few grace periods" "no function tracer"
	fi
}

# A process with little CPU time is killed, and its queue pairs end slowly. Others make and
# destroy queue pairs of the same device meanwhile.
slow_user_goes() {
	local log=$lib_tmp/slow rc=0

	start host "$log" "env CAIRN_B=cairn_u crowd 3000"
	wait_for 60 grep -q ready "$log" || { lib_show "$log"; return 1; }
	echo "$started" >$slow/cgroup.procs || return
	kill -KILL "$started"
	env CAIRN_B=cairn_u crowd watch 20 || rc=1
	echo max >$slow/cpu.max
	wait "$started" 2>/dev/null
	return $rc
}

# A CPU is unplugged under load and comes back at once. Another CPU may still have the
# sides that were bound to it. Traffic goes on, and without loss no packet is sent again.
cpu=/sys/devices/system/cpu/cpu1/online
cycles=${CAIRN_CPU_CYCLES:-10}
[ -z "${CAIRN_SOAK:-}" ] || cycles=${CAIRN_CPU_CYCLES:-1000}

cycle_cpu() {
	local i

	for ((i = 0; i < cycles; i++)); do
		echo 0 >$cpu && echo 1 >$cpu || return
	done
}

messages() { counter "$DEV_A" rx_packets; }
more_messages() { [ "$(messages)" -gt "$((before + 100))" ]; }

start a "$lib_tmp/bystander" "verbs_verify -T 100000 -m 1024 -e -s 4000 -w 100"
bystander=$started
wait_for 30 grep -q running "$lib_tmp/bystander" || bail "no traffic"
run_ok "$times times unplugged under load" rounds
plug || bail "no devices"
try_backlog "a process is killed with long send queues" user_goes
expect_that "... and few packets are sent after that" "$sent < $packets / 4"
if slow_begin; then
	run_ok "a process with little CPU time is killed" slow_user_goes
	# the shell may say behind it that the process was killed
	longest=$(output | grep -xE '[0-9]+')
	diag "$longest ms for a queue pair of another process"
	expect_that "... and delays no other one" "${longest:-1000000} < 1000 * ${CAIRN_TIMEOUT_SCALE:-1}"
	slow_end
else
	skip "a process with little CPU time is killed" "no bandwidth of control groups"
fi
try_backlog "a device goes with long send queues" device_goes
points env CAIRN_B=cairn_v leaving
tidy
kill -0 "$bystander" 2>/dev/null && alive=1 || alive=0
lib_show "$lib_tmp/bystander" 3
expect "traffic of others goes on" $alive 1
if [ -w $cpu ]; then
	run_ok "$cycles times a CPU is unplugged and comes back" cycle_cpu
	before=$(messages)
	wait_for 30 more_messages && kill -0 "$bystander" 2>/dev/null && alive=1 || alive=0
	expect "... and traffic goes on" $alive 1
	lib_show "$lib_tmp/bystander" 3
else
	skip "a CPU is unplugged and comes back" "no other CPU"
fi
stop "$bystander"
