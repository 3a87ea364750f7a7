#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: none
# timeout: 600
# kernels: 6.1 6.12
# boot: shared
#
# Both ends on this host, in one network namespace: one device, and two devices that no
# wire connects. Contents, counters, the mode. No call hangs and no object stays behind
# when programs, devices and the module are removed meanwhile.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=$((120 * ${CAIRN_TIMEOUT_SCALE:-1}))

# device N: cl$N on a veth with the addresses 10.79.0.$((N + 1)) and fd79::$((N + 1))
device() {
	ip link add "lv$1" mtu 9000 type veth peer name "lp$1" mtu 9000 || return
	ip link set "lv$1" up && ip link set "lp$1" up
	ip addr add "10.79.0.$(($1 + 1))/24" dev "lv$1"
	ip addr add "fd79::$(($1 + 1))/64" dev "lv$1" nodad
	# these kernels have no hook for ARP, in which cairn would answer
	case ${KVER:-} in
	uml | rt | kcsan)
		ip neigh replace "10.79.0.$((2 - $1))" lladdr 02:00:00:79:00:00 dev "lv$1" nud permanent
		;;
	esac
	rdma link add "cl$1" type cairn netdev "lv$1" && wait_for 20 port_is "cl$1" ACTIVE
}

# between A B: programs run between these devices from here on
between() { export CAIRN_A=cl$1 CAIRN_B=cl$2; }
has() { cat "/sys/class/infiniband/cl0/ports/1/hw_counters/$1"; }
mode() { loopback mode "cl$1" "$2"; }

# traffic OPTION...: until an error ends it
traffic() { traffic_start -T 100000 -E -w 60 "$*"; }

modprobe cairn || bail "no module"
device 0 || bail "no device"
device 1 || bail "no second device"

# --- one device -------------------------------------------------------------

between 0 0
run_ok "one device: all operations" verbs_verify -n 100
run_ok "... over IPv6, path MTU 4096" verbs_verify -n 100 -f 6 -m 4096
run_ok "... of UC" verbs_verify -n 100 -c uc
run_ok "... of UD" verbs_verify -n 100 -c ud -m 2048
run_ok "... of up to 1 MB" verbs_verify -n 10 -s 1000000 -d 4 -m 4096
run_ok "... with events, 4 QPs" verbs_verify -n 50 -q 4 -e
run_ok "... with receives posted late" verbs_verify -n 50 -R
expect "no packet went to the IP stack" "$(has tx_packets)" 0
expect_that "all were handed over" "$(has loopback_packets) > 1000"
expect_that "... some as copies, because their receiver was busy" \
	"$(has loopback_queued) > 0 && $(has loopback_queued) < $(has loopback_packets)"

# A VLAN has the MAC address of its parent, and so the same link-local address.
ip link add link lv0 name lv0.7 type vlan id 7 && ip link set lv0.7 up
run_ok "... over an address that a VLAN has, too" verbs_verify -n 30 -f l
mode 0 1
run_ok "... by the IP stack" verbs_verify -n 30 -f l
mode 0 0
ip link del lv0.7

# --- the sender is known ----------------------------------------------------------------

points strangers
mode 0 1
points strangers on_
mode 0 0
between 0 1
points strangers on_
points strangers on_ 6
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
start a "$lib_tmp/quiet" "verbs_verify -T 100000 -m 1024 -q 1 -w 100 -p 5"
wait_for 30 grep -q running "$lib_tmp/quiet"
run_ok "every user may list queue pairs" as_nobody rdma resource show qp -dd
output >"$lib_tmp/qps"
stop "$started"
run_ok "... of connections" grep -q 'type RC' "$lib_tmp/qps"
run_fail "... but sees no PSN" grep -E '(sq|rq)-psn [1-9]|drv_[a-z]*-?psn' "$lib_tmp/qps"

# --- two devices, and the mode ----------------------------------------------

between 0 1
run_ok "two devices over IPv4, by the IP stack" verbs_verify -n 50
expect_that "... which had the packets" "$(has tx_packets) > 50"
run_ok "... over IPv6" verbs_verify -n 50 -f 6
points loopback
points loopback others_if_both_want_it 6
mode 0 2 && mode 1 2
points strangers on_
points strangers on_ 6
run_ok "two devices that hand over" verbs_verify -n 100 -q 2
run_ok "... datagrams" verbs_verify -n 50 -c ud -m 2048

# Older kernels receive redirected packets below the send. There a requester answers for its
# peer, whose lock may be held.
below=$(kmod cairn_below)
if [ -e "$below" ]; then
	between 0 0
	mode 0 1
	insmod "$below" || bail "cairn_below"
	run_ok "packets that are received below their send" persist host_posted_at_peer
	run_ok "... of all operations" verbs_verify -n 50
	read -r packets </sys/module/cairn_below/parameters/packets
	rmmod cairn_below
	expect_that "... of which $packets were received so" "packets > 50"
	mode 0 2
	between 0 1
else
	skip "packets that are received below their send" "no module for this kernel"
fi

# The mode changes under traffic: packets that are still in the stack may come late.
traffic -q 2
between 0 0
traffic -q 2 -d 16
for _ in 1 2 3; do
	mode 0 1
	mode 0 0
	mode 0 2
done

# --- progress beside a process that posts without end -----------------------

between 1 1
run_ok "others go on meanwhile" verbs_verify -n 30

# --- removal under traffic --------------------------------------------------

kill -KILL -- "-$traffic"
wait "$traffic" 2>/dev/null
between 0 0
traffic -q 4
rdma link delete cl0
traffic_ends "a device is deleted under its own traffic"
device_gone() { [ ! -e /sys/class/infiniband/cl0 ]; }
run_ok "... and is removed" wait_for 30 device_gone
rdma link add cl0 type cairn netdev lv0 && wait_for 20 port_is cl0 ACTIVE
mode 0 2
between 0 1
traffic -q 2
ip link del lv0
traffic_ends "a netdev is deleted under traffic of two devices"
run_ok "... and so is its device" wait_for 30 device_gone
between 1 1
traffic -q 2
last_gone() { [ ! -e /sys/class/infiniband/cl1 ]; }
# shellcheck disable=SC2016
send() { as_nobody bash -c 'echo >"/dev/udp/10.79.0.2/$1"' - "$1"; }
rdma link delete cl1
traffic_ends "the last device is deleted under its own traffic"
run_ok "... and is removed" wait_for 30 last_gone
run_ok "a user may send datagrams" send 4790
run_fail "... but not to the peers of the devices that were there" send 4791
rdma link add cl1 type cairn netdev lv1 && wait_for 20 port_is cl1 ACTIVE
traffic -q 2
run_ok "the module is unloaded under traffic" rmmod cairn
traffic_ends "... which ends"
run_ok "datagrams are not refused any more" send 4791
ip link del lv1
modprobe cairn
