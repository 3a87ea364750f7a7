#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: none
# cpus: 2 (6.12)
# timeout: 180
# kernels: 6.1 6.12
# boot: shared
#
# A netdev moves from one network namespace to another and back while a device is
# added to it and deleted. The namespaces can be deleted afterwards. A device moves
# itself. Routes of a namespace are released before the device has left it.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

# Adding a device makes thousands of files: seconds in a kernel with all its checks.
times=4
[ "${KVER:-}" != uml ] || times=3
[ -z "${CAIRN_SOAK:-}" ] || times=20

no_device() { [ ! -e /sys/class/infiniband/cairn_m ]; }
no_peer() { [ ! -e /sys/class/net/mv1 ]; }

move() {
	local i

	for ((i = 0; i < times; i++)); do
		ip -n m1 link set mv0 netns m2
		ip -n m2 link set mv0 netns m1
	done
}

add() {
	local i

	for ((i = 0; i < times; i++)); do
		ip netns exec m1 rdma link add cairn_m type cairn netdev mv0
		ip netns exec m1 rdma link delete cairn_m
	done 2>/dev/null
}

# The peer of the moving netdev is removed when its namespace is cleaned up. If that
# never ends, no other namespace is cleaned up.
round() {
	local mover

	ip netns add m1 && ip netns add m2 || return
	ip link add mv1 type veth peer mv0 netns m1 || return
	move &
	mover=$!
	add
	wait $mover
	# at the end as well, and with the device in use
	ip netns exec m1 rdma link add cairn_m type cairn netdev mv0 2>/dev/null
	ip netns del m1 && ip netns del m2 || return
	wait_for 30 no_peer && wait_for 30 no_device
}

rounds() {
	local i

	for i in {1..4}; do
		round || return
	done
}

slow=/sys/module/cairn_slow_add/parameters
one_waits() { [ "$(<$slow/held)" = 1 ]; }
none_waits() { [ "$(<$slow/held)" = 0 ]; }

# The netdev moves at the worst time: the device knows it, and is not registered yet.
move_while_adding() {
	local adder rc=0

	ip netns add m1 && ip netns add m2 || return
	ip link add mv1 type veth peer mv0 netns m1 || return
	echo 1 >$slow/hold
	ip netns exec m1 rdma link add cairn_m type cairn netdev mv0 &
	adder=$!
	wait_for 30 one_waits && ip -n m1 link set mv0 netns m2 || rc=1
	[ "$1" != back ] || ip -n m2 link set mv0 netns m1 || rc=1
	echo 0 >$slow/hold
	wait $adder
	wait_for 30 none_waits && wait_for 30 no_device || rc=1
	ip netns del m1 && ip netns del m2 || return
	wait_for 30 no_peer || rc=1
	return $rc
}

# gids PATTERN: GIDs of the device
gids() { cat /sys/class/infiniband/cairn_m/ports/1/gids/* 2>/dev/null | grep -cE "$1"; }
gids_are_new() { [ "$(gids '0a50:000[13]$')" = 0 ] && [ "$(gids '0a50:000[24]$')" -ge 2 ]; }

# Addresses change while the device is added: those of the netdev and of a VLAN.
readdress_while_adding() {
	local adder rc=0

	ip link add mv1 type dummy && ip link set mv1 up || return
	ip link add link mv1 name mv1.7 type vlan id 7 && ip link set mv1.7 up || return
	ip addr add 10.80.0.1/24 dev mv1 && ip addr add 10.80.0.3/24 dev mv1.7 || return
	echo 4 >$slow/hold
	rdma link add cairn_m type cairn netdev mv1 &
	adder=$!
	wait_for 30 one_waits || rc=1
	ip addr del 10.80.0.1/24 dev mv1 && ip addr add 10.80.0.2/24 dev mv1 || rc=1
	ip addr del 10.80.0.3/24 dev mv1.7 && ip addr add 10.80.0.4/24 dev mv1.7 || rc=1
	echo 0 >$slow/hold
	wait $adder || rc=1
	wait_for 10 gids_are_new || rc=1
	cat /sys/class/infiniband/cairn_m/ports/1/gids/* | grep -v ':0000:0000$' | sort | uniq -c
	ip link del mv1 && wait_for 30 no_device && return $rc
}

exclusive() { rdma system set netns exclusive; }
shared() { rdma system set netns shared; }
no_spaces() { [ -z "$(ip netns list)" ] && exclusive; }
device_in() { ip netns exec "$1" rdma link show cairn_m/1 | grep -q cairn_m; }
link_has() { ip -n m1 link show mv0 | grep -q "[<,]$1[,>]"; }

begin_exclusive() {
	ip netns add m1 && ip netns add m2 || return
	ip link add mv1 type veth peer mv0 netns m1 || return
}

end_exclusive() {
	ip netns exec m2 rdma link delete cairn_m
	ip netns del m1 && ip netns del m2 && wait_for 30 no_peer && wait_for 30 no_device
}

# The netdev moves before the device knows it: the device is added in the new namespace.
move_before_adding() {
	local adder rc=0

	begin_exclusive || { end_exclusive; return 1; }
	echo 2 >$slow/hold
	ip netns exec m1 rdma link add cairn_m type cairn netdev mv0 &
	adder=$!
	wait_for 30 one_waits && ip -n m1 link set mv0 netns m2 || rc=1
	echo 0 >$slow/hold
	wait $adder || rc=1
	device_in m2 || rc=1
	end_exclusive && return $rc
}

# A device moves, and its link goes down meanwhile: later users get the event when the
# link is up again.
link_while_moving() {
	local mover watcher rc=0 events=$lib_tmp/events

	begin_exclusive || { end_exclusive; return 1; }
	if ! { ip link set mv1 up && ip -n m1 link set mv0 up && wait_for 30 link_has LOWER_UP &&
		ip netns exec m1 rdma link add cairn_m type cairn netdev mv0; }; then
		end_exclusive
		return 1
	fi
	echo 3 >$slow/hold
	ip netns exec m1 rdma dev set cairn_m netns m2 &
	mover=$!
	wait_for 30 one_waits && ip link set mv1 down && wait_for 30 link_has NO-CARRIER || rc=1
	echo 0 >$slow/hold
	wait $mover && device_in m2 || rc=1
	ip netns exec m2 stdbuf -oL ibv_asyncwatch -d cairn_m >"$events" 2>&1 &
	watcher=$!
	wait_for 20 grep -q 'async event FD' "$events" || rc=1
	ip link set mv1 up
	wait_for 20 grep -qi 'port active\|PORT_ACTIVE' "$events" || rc=1
	cat "$events"
	kill $watcher
	wait $watcher
	end_exclusive && return $rc
}

late=/sys/module/cairn_late_free/parameters
all_freed() { [ "$(<$late/freed)" = 300 ]; }

# The CPU that runs RCU's callbacks is busy, so they are late.
late_frees() {
	local busy rc=0

	ip link add mv1 type dummy && ip link set mv1 up || return
	rdma link add cairn_m type cairn netdev mv1 && insmod "$(kmod cairn_late_free)" || return
	taskset -c 1 bash -c 'while :; do :; done' &
	busy=$!
	taskset -c 0 rdma link delete cairn_m || rc=1
	wait_for 60 all_freed || rc=1
	kill $busy
	wait $busy
	echo "$(<$late/freed) handles were freed, $(<$late/late) of them too late"
	[ "$(<$late/late)" = 0 ] || rc=1
	rmmod cairn_late_free
	ip link del mv1
	return $rc
}

modprobe cairn
# user-mode Linux has no function tracer, nor has the kernel with KCSAN
case ${KVER:-} in
uml | kcsan | rt) skip "a netdev that moves while its device is added" "no function tracer" ;;
*)
	insmod "$(kmod cairn_slow_add)" || bail "no way to hold the adding of a device"
	if wait_for 20 no_spaces; then
		run_ok "a netdev moves before its device is added" move_before_adding
		run_ok "a link that goes down while its device moves" link_while_moving
		run_ok "back to shared" wait_for 20 shared
	else
		skip "exclusive namespaces" "namespaces are left"
	fi
	run_ok "a netdev moves away while its device is added" move_while_adding away
	run_ok "a netdev moves away and back while its device is added" move_while_adding back
	run_ok "addresses change while a device is added" readdress_while_adding
	rmmod cairn_slow_add
	if [ "$(nproc)" -gt 1 ]; then
		run_ok "routes are released before the device has left" late_frees
	else
		skip "routes that are released late" "one CPU"
	fi
	;;
esac
run_ok "both namespaces are removed after moves of the netdev" rounds
ip link add mv1 type dummy
run_ok "a device can be added" rdma link add cairn_m type cairn netdev mv1
run_ok "... and deleted" rdma link delete cairn_m
ip link del mv1
