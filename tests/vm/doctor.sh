#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 540
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# cairn_doctor on a live host: things are broken, and mended by the command that it names.
# userspace/tests/test_doctor.sh has the other diagnoses.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

# doctor [ARGUMENT]...: in namespace a; its exit status is left in $doctor_rc
doctor() {
	doctor_rc=0
	in_a cairn_doctor "$@" >"$lib_tmp/doctor" 2>&1 || doctor_rc=$?
}

# finds NAME LEVEL ID [WORDS]: a line with these words; exit status 1 if it is a failure.
# The command that mends it is left in $mend.
finds() {
	local line

	line=$(grep -A1 -E "^$2 +$3: .*${4:-}" "$lib_tmp/doctor")
	mend=$(sed -n 's/^ *mend: \(sudo \)\?//p' <<<"$line")
	if [ -n "$line" ] && { [ "$2" != fail ] || [ "$doctor_rc" = 1 ]; }; then
		ok "$1"
	else
		not_ok "$1"
		diag "exit status $doctor_rc"
		lib_show "$lib_tmp/doctor"
	fi
}

has_gid() { gid_index "$DEV_A" "$IP_A"; }
has_no_gid() { ! gid_index "$DEV_A" "$IP_A" && ! gid_index "$DEV_A" "$IP6_A"; }

# addresses of IPv6 would go with the link
in_a sysctl -qw "net.ipv6.conf.$IF_A.keep_addr_on_down=1"
in_b sysctl -qw "net.ipv6.conf.$IF_B.keep_addr_on_down=1"

# --- nothing is wrong -----------------------------------------------------

start b "$lib_tmp/rping" "rping -s -P -a $IP_B"
server=$started
wait_for 30 cm_listens || bail "rping does not listen"
doctor -d "$DEV_A" "$IP_B"
expect "a healthy host" "$doctor_rc $(grep -cE '^(warn|fail)' "$lib_tmp/doctor")" "0 0"
for id in modules provider nodes port gids mtu firewall peer-route peer-neighbour peer-mtu peer-rping; do
	finds "... $id" ok $id
done

# --- the firewall and the process -----------------------------------------

in_a nft -f - <<-'END'
table inet guard {
	chain in {
		type filter hook input priority filter; policy accept;
		udp dport 4791 drop
	}
}
END
# with CAP_IPC_LOCK the limit would not count
doctor_rc=0
(ulimit -l 64 && in_a setpriv --bounding-set -ipc_lock cairn_doctor) >"$lib_tmp/doctor" 2>&1 || doctor_rc=$?
finds "a limit of locked memory" warn memlock 'only 64 KiB'
finds "a rule that drops our packets" fail firewall
expect "... and the command for it" "$mend" "nft insert rule inet guard in udp dport 4791 accept"
# shellcheck disable=SC2086
in_a $mend
doctor "$IP_B"
finds "the command mends it" ok firewall
finds "... and rping works" ok peer-rping
in_a nft delete table inet guard

# --- the peer -------------------------------------------------------------

stop "$server"
doctor "$IP_B"
finds "no server" fail peer-rping
in_b ip link set "$IF_B" mtu 1500
doctor "$IP_B"
finds "large packets are lost" fail peer-mtu 'path MTU 2048 do not reach'
in_b ip link set "$IF_B" mtu 9000
doctor 10.77.0.99
finds "an address without a host" fail peer-neighbour

# --- the device -----------------------------------------------------------

in_b ip link set "$IF_B" down
wait_for 20 port_is "$DEV_A" DOWN
doctor
finds "a netdev without carrier" fail port 'has no carrier'
in_b ip link set "$IF_B" up
wait_for 20 port_is "$DEV_A" ACTIVE

in_a ip link set "$IF_A" down
wait_for 20 port_is "$DEV_A" DOWN
doctor
finds "a netdev that is down" fail port "as $IF_A is"
# shellcheck disable=SC2086
in_a $mend
expect "the command mends it" "$(wait_for 20 port_is "$DEV_A" ACTIVE && echo yes)" yes

in_a ip address delete "$IP_A/24" dev "$IF_A"
in_a ip address delete "$IP6_A/64" dev "$IF_A"
wait_for 20 has_no_gid
doctor "$IP_B"
finds "no route to the peer" fail peer-route
finds "a netdev without an address" warn gids
# shellcheck disable=SC2086
in_a ${mend/ADDRESS\/PREFIX/$IP_A/24}
in_a ip address add "$IP6_A/64" dev "$IF_A" nodad
expect "the command mends it" "$(wait_for 20 has_gid && echo yes)" yes

# --- another namespace, and control groups --------------------------------

group=/sys/fs/cgroup/doctor
mkdir $group
echo +rdma >/sys/fs/cgroup/cgroup.subtree_control
echo "$DEV_A hca_handle=0" >$group/rdma.max
doctor_rc=0
# "ip netns exec" would hide the control groups
(echo "$BASHPID" >$group/cgroup.procs && exec cairn_doctor -d "$DEV_A") >"$lib_tmp/doctor" 2>&1 || doctor_rc=$?
finds "the netdev of another namespace" fail netdev
finds "a limit of contexts" fail cgroup
# The kernel keeps a limit when its group goes, and then uses freed memory.
bash -c "${mend/sudo /}" >"$lib_tmp/tee"
expect "the command mends it" "$(grep -c "^$DEV_A hca_handle=max hca_object=max" $group/rdma.max)" 1
echo -rdma >/sys/fs/cgroup/cgroup.subtree_control
rmdir $group
