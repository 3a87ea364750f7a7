#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: none
# timeout: 240
# kernels: 6.1 6.12
# boot: shared
#
# Features of newer kernels: the speed of a port that is not rounded, completion counters,
# and device names that are unique in a network namespace and not on the host. Older kernels
# refuse them, and nothing is left of the try. And what newer kernels ask of a driver: reports
# of its port (6.14), the size of a queue pair's counter, and events below the lock of a netdev
# (6.15).

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

# since VERSION: is the kernel that new?
since() { [ "$(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" = "$1" ]; }

# --- the speed of a port --------------------------------------------------

modprobe cairn
# a netdev whose speed can be set, to one that InfiniBand does not know
modprobe tun
ip tuntap add nt0 mode tap && ethtool -s nt0 speed 7300 duplex full && ip link set nt0 up ||
	bail "no netdev with a speed"
rdma link add cairn_n type cairn netdev nt0 || bail "no device"
if since 7.2; then
	expect "the speed of a port" "$(port_speed cairn_n 1)" 73
	expect "port 2 is refused" "$(port_speed cairn_n 2)" "errno 22"
	ethtool -s nt0 speed 10
	expect "a speed below the unit" "$(port_speed cairn_n 1)" 1
	ethtool -s nt0 speed 200000
	expect "the speed follows the netdev" "$(port_speed cairn_n 1)" 2000
else
	# EPROTONOSUPPORT: the kernel does not know the method
	said=$(port_speed cairn_n 1)
	case $said in
	[0-9]* | 'errno 93' | 'errno 95') ok "the speed of a port: $said" ;;
	*) not_ok "the speed of a port: $said" ;;
	esac
fi
rdma link delete cairn_n && ip link delete nt0

# --- completion counters --------------------------------------------------

# both ends are one device
ip link add nd0 type dummy && ip addr add 10.79.9.1/24 dev nd0 && ip link set nd0 up &&
	rdma link add cairn_d type cairn netdev nd0 || bail "no device"
CAIRN_A=cairn_d CAIRN_B=cairn_d points comp_cntr

# --- events of a port -----------------------------------------------------

# shellcheck disable=SC2154
events=$lib_tmp/events
reports() { grep -ciE "port $1|PORT_$2" "$events"; }
reported() { [ "$(reports "$1" "$2")" -ge "$3" ]; }

stdbuf -oL ibv_asyncwatch -d cairn_d >"$events" 2>&1 &
watcher=$!
wait_for 20 grep -q 'async event FD' "$events" || lib_show "$events"
for i in 1 2 3; do
	ip link set nd0 down && wait_for 20 reported error ERR $i
	ip link set nd0 up && wait_for 20 reported active ACTIVE $i
done
kill $watcher
wait $watcher
run_ok "changes of the port are reported" reported active ACTIVE 3
expect "... each one once" \
	"$(reports error ERR) $(reports active ACTIVE)" "3 3"

# --- counters of queue pairs ----------------------------------------------

counted() { rdma statistic qp show link cairn_d/1 | grep -q 'comm ibv_rc_pingpong'; }

run_ok "counters for the queue pairs of each process" \
	rdma statistic qp set link cairn_d/1 auto pid on
gid=$(grep -l ':ffff:0a4f:0901' /sys/class/infiniband/cairn_d/ports/1/gids/* 2>/dev/null)
# a server that waits: its queue pair has a counter
ibv_rc_pingpong -d cairn_d -g "${gid##*/}" >/dev/null 2>&1 &
server=$!
run_ok "a queue pair has one" wait_for 30 counted
kill $server
wait $server
run_ok "... and no more" rdma statistic qp set link cairn_d/1 auto off
rdma link delete cairn_d && ip link delete nd0

# --- device names per namespace -------------------------------------------

exclusive() { rdma system set netns exclusive; }
shared() { rdma system set netns shared; }
no_spaces() { [ -z "$(ip netns list)" ] && exclusive; }
no_peer() { [ ! -e /sys/class/net/n1 ]; }
device_in() { lib_in "$1" rdma link show "$2/1" 2>/dev/null | grep -q "netdev $3"; }
listed() { lib_in "$1" ibv_devices | grep -cw "$2"; }
add() { lib_in "$1" rdma link add "$2" type cairn netdev "$3"; }

spaces_up() {
	ip netns add n1 && ip netns add n2 || return
	ip link add nv1 netns n1 type veth peer nv2 netns n2 || return
	ip -n n1 addr add 10.79.0.1/24 dev nv1 && ip -n n2 addr add 10.79.0.2/24 dev nv2 || return
	ip -n n1 link set nv1 up && ip -n n2 link set nv2 up
}

spaces_down() {
	ip netns delete n1 && ip netns delete n2
}

rping_same_name() {
	local server rc=0

	lib_in n2 rping -s -C 3 -a 10.79.0.2 &
	server=$!
	wait_for 30 rping_listens || rc=1
	lib_in n1 timeout "$RUN_TIMEOUT" rping -c -C 3 -a 10.79.0.2 || rc=1
	wait $server || rc=1
	return $rc
}
rping_listens() { lib_in n2 rdma resource show cm_id | grep -q 'state LISTEN'; }

same_names() {
	run_ok "the same name in another namespace" add n2 cairn_n nv2
	run_ok "each namespace has its device" eval 'device_in n1 cairn_n nv1 && device_in n2 cairn_n nv2'
	expect "a program sees one of that name" "$(listed n1 cairn_n) $(listed n2 cairn_n)" "1 1"
	run_ok "rping between devices of the same name" rping_same_name
	run_fail "a name is unique in its namespace" add_dummy
	run_fail "a device does not move to a namespace with that name" \
		lib_in n1 rdma dev set cairn_n netns n2
	run_ok "... and stays where it was" device_in n1 cairn_n nv1
	run_ok "one is deleted" lib_in n1 rdma link delete cairn_n
	run_ok "... and the other is there" device_in n2 cairn_n nv2
	run_ok "the name is free again" add n1 cairn_n nv1
}

add_dummy() {
	lib_in n1 ip link add nd1 type dummy
	add n1 cairn_n nd1
}

if ! wait_for 20 no_spaces; then
	skip "device names per namespace" "namespaces are left"
	exit
fi
if spaces_up && add n1 cairn_n nv1; then
	if since 7.3; then
		same_names
	elif add n2 cairn_n nv2 2>"$lib_tmp/said"; then
		not_ok "the same name in another namespace is refused"
	else
		diag "$(<"$lib_tmp/said")"
		ok "the same name in another namespace is refused"
		run_ok "... and another one is free" add n2 cairn_m nv2
	fi
else
	not_ok "a device in a namespace"
fi
run_ok "the namespaces end" spaces_down
run_ok "back to shared" wait_for 20 shared
