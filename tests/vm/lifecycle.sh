#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: none
# timeout: 900
# kernels: 6.1 6.12
# boot: own
#
# Devices, netdevs, namespaces and the module are added and removed, also while programs
# use them. The programs get errors, no call hangs, and no object stays behind.

top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=scripts/vm/topology
. "$top/scripts/vm/topology"
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

modules() { grep -c '^cairn ' /proc/modules; }
devices() { find /sys/class/infiniband -mindepth 1 2>/dev/null | wc -l; }
has_device() { [ -e "/sys/class/infiniband/$1" ]; }
no_device() { [ ! -e "/sys/class/infiniband/$1" ]; }
add_a() { in_a rdma link add cairn_a type cairn netdev va && wait_for 10 port_active cairn_a; }
add_b() { in_b rdma link add cairn_b type cairn netdev vb && wait_for 10 port_active cairn_b; }

# make veths and namespaces anew, after removing the old ones
rebuild() {
	topology_down pair && topology_up pair
}

# fails NAME REGEX CMD...: exits with an error and says something like REGEX
fails() {
	local name=$1 regex=$2

	shift 2
	run_fail "$name" "$@" || return
	if output | grep -qiE -e "$regex"; then
		ok "... and says why"
	else
		not_ok "... and says why"
		diag "$(output)"
	fi
}

# traffic [OPTION]...: until an error ends it. In the initial namespace, so that it
# holds no other namespace
traffic() {
	# shellcheck disable=SC2154
	log=$lib_tmp/traffic
	set -m
	verbs_verify -T 100000 -E -w 30 "$@" >"$log" 2>&1 </dev/null &
	traffic=$!
	set +m
	lib_groups+=("$traffic")
	if ! wait_for 30 grep -q running "$log"; then
		not_ok "traffic starts"
		lib_show "$log"
		return 1
	fi
}

# the program noticed the error and ended by itself
traffic_ends() {
	if lib_wait $((60 * ${CAIRN_TIMEOUT_SCALE:-1})) "$traffic"; then
		ok "$1"
	else
		not_ok "$1"
		diag "state: $(grep State /proc/"$traffic"/status 2>&1) $(cat /proc/"$traffic"/wchan 2>&1)"
		stop "$traffic"
	fi
	lib_show "$log" 3
}

works() { run_ok "traffic ${1:-afterwards}" verbs_verify -n 30; }

# --- module and errors ----------------------------------------------------

rmmod cairn
expect "the module unloads when unused" "$(modules)" 0
topology_up pair || bail "no topology"
expect "adding a link loads it" "$(modules)" 1
works "over links just added"

fails "a second device on a netdev is refused" "exist" \
	in_a rdma link add cairn_z type cairn netdev va
fails "a second device of the same name is refused" "exist" \
	in_b rdma link add cairn_a type cairn netdev vb
fails "a netdev that does not exist is refused" "netdev|device" \
	rdma link add cairn_z type cairn netdev nosuch
modprobe 8021q && in_a ip link add link va name va.5 type vlan id 5
fails "a VLAN is refused" "invalid" in_a rdma link add cairn_z type cairn netdev va.5
dmesg | grep -q 'va.5: cairn: GIDs of a VLAN belong to the device of its parent, va: make the link there$' &&
	ok "... and the kernel log says why" || not_ok "... and the kernel log says why"
in_a ip link delete va.5
expect "none of them left a device" "$(devices)" 2

# --- add and delete -------------------------------------------------------

times=6
[ -z "${CAIRN_SOAK:-}" ] || times=100
loop() {
	local i

	for ((i = 0; i < times; i++)); do
		rdma link delete cairn_a && no_device cairn_a && add_a || return
	done
}
run_ok "$times times deleted and added again" loop
works

race() {
	local looker one two

	while [ ! -e "$lib_tmp/stop" ]; do
		ibv_devinfo -v >/dev/null 2>&1
		rdma link show >/dev/null 2>&1
		rdma resource show qp >/dev/null 2>&1
	done &
	looker=$!
	for _ in {1..5}; do
		in_a rdma link add cairn_x type cairn netdev va 2>/dev/null &
		one=$!
		rdma link delete cairn_b &
		two=$!
		wait $one $two
		rdma link delete cairn_a &
		one=$!
		in_b rdma link add cairn_b type cairn netdev vb &
		two=$!
		wait $one $two
		in_a rdma link add cairn_a type cairn netdev va
		wait_for 10 port_active cairn_a && wait_for 10 port_active cairn_b || return
	done
	: >"$lib_tmp/stop"
	wait $looker
}
run_ok "deleting, adding and looking at the same time" race
works

# --- deleting under traffic -----------------------------------------------

for dev in cairn_a cairn_b; do
	for how in '' '-e -q 4'; do
		# shellcheck disable=SC2086
		traffic $how || continue
		run_ok "$dev is deleted under traffic${how:+ with events}" rdma link delete $dev
		expect "... and is removed" "$(no_device $dev && echo gone)" gone
		traffic_ends "... and its user ends"
		"add_${dev#cairn_}" || diag "adding $dev failed"
	done
done
works

for _ in 1 2 3; do
	traffic -q 4 || continue
	kill -KILL "$traffic"
	wait "$traffic" 2>/dev/null
done
only_gsi() { ! rdma resource show qp | grep -q 'type RC'; }
if wait_for 10 only_gsi; then
	ok "killed processes leave no queue pair"
else
	not_ok "killed processes leave no queue pair"
	diag "$(rdma resource show qp)"
fi

# --- netdevs and namespaces -----------------------------------------------

traffic
run_ok "the netdev is deleted under traffic" in_a ip link del va
wait_for 20 no_device cairn_a
wait_for 20 no_device cairn_b
expect "... and so are both devices" "$(devices)" 0
traffic_ends "... and their user ends"
run_ok "all is set up again" rebuild
works

traffic
run_ok "a namespace with a device is deleted under traffic" ip netns del a
wait_for 30 no_device cairn_a
wait_for 30 no_device cairn_b
expect "... and so are the devices" "$(devices)" 0
traffic_ends "... and their user ends"
run_ok "all is set up again" rebuild
works

run_ok "a namespace with an idle device is deleted" ip netns del b
wait_for 30 no_device cairn_b
expect "... and so is the device" "$(no_device cairn_b && echo gone)" gone
run_ok "all is set up again" rebuild

# --- unloading under traffic ----------------------------------------------

traffic -q 2
run_ok "the module is unloaded under traffic" rmmod cairn
expect "... and is removed" "$(modules)" 0
traffic_ends "... and its user ends"
run_ok "the module is loaded again" modprobe cairn
add_a && add_b
works

traffic
run_ok "unloaded with events in use" rmmod cairn
traffic_ends "... and its user ends"
run_ok "all is torn down" topology_down pair
modprobe cairn
