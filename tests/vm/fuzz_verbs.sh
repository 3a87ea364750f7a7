#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 240
# kernels: 6.1 6.12
# boot: shared
#
# Random calls from several processes. Beside them run traffic that must stay right, a
# bystander whose memory must stay as it is, and readers of netlink. A third device's
# netdev moves between namespaces. The seed is printed; CAIRN_SEED=N make vmtest
# T=fuzz_verbs begins with the same lives, and fuzz_verbs -s N -p 1 -n 1 repeats one.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

seconds=12
# user-mode Linux with all checks makes 20 calls a second
[ "${KVER:-}" != uml ] || seconds=40
seconds=${CAIRN_FUZZ_SECONDS:-$seconds}
processes=3
if [ "${CAIRN_SOAK:-0}" = 1 ]; then
	seconds=${CAIRN_FUZZ_SECONDS:-600}
	# lives mostly wait, for grace periods and traps: many of them use the CPU
	processes=48
fi
RUN_TIMEOUT=$((seconds + 120 * ${CAIRN_TIMEOUT_SCALE:-1}))

# shellcheck disable=SC2154
log=$lib_tmp/bystander
start a "$log" "verbs_verify -T 100000 -m 1024 -q 2 -s 4000 -w 100 -p 5"
bystander=$started
wait_for 30 grep -q running "$log" || bail "no traffic to disturb"
# Lives use this device while it moves away, comes back, and is added anew.
export CAIRN_C=cairn_c
ip netns add c
ip -n a link add vc mtu 9000 type veth peer vd
ip -n a link set vd up
# shellcheck disable=SC2016
move_again='
	arrive() {
		ip -n "$1" link set vc up
		ip -n "$1" addr add 10.78.0.1/24 dev vc
		[ ! -e /proc/sys/net/ipv6 ] || ip -n "$1" addr add fd78::1/64 dev vc nodad
	}
	ns=a
	arrive a
	while :; do
		ip netns exec $ns rdma link add cairn_c type cairn netdev vc
		for other in c a c a; do
			sleep 0.5
			ip -n $ns link set vc netns $other || exit 1
			ns=$other
			arrive $ns
			echo "$((++moves)) moves" >&3
		done
		rdma link delete cairn_c
	done 2>/dev/null'
start - "$lib_tmp/moves" "exec 3>&1; $move_again"
mover=$started
# a new seed, unless CAIRN_SEED names one to repeat
seed=()
[ -z "${CAIRN_SEED:-}" ] || seed=(-s "$CAIRN_SEED")
modprobe fuse 2>/dev/null
run_ok "every process ends" in_a fuzz_verbs -p $processes -t "$seconds" "${seed[@]}"
diag "$(output)"
# number_of WORDS: the number before them in the output of the fuzzer
number_of() {
	output | sed -n "s/.*\b\([0-9][0-9]*\) $1.*/\1/p"
}
traps=$(number_of "commands with a pointer into a trap")
pages=$(number_of "pages of FUSE")
if [ ! -c /dev/fuse ]; then
	skip "pages of a file system in a process" "no FUSE in this kernel"
elif [ $((traps)) -lt 500 ]; then
	# one of 70 such commands waits for a page of FUSE
	skip "pages of a file system in a process" "$((traps)) commands only, on a slow machine"
else
	expect_that "pages of a file system in a process were waited for" "${pages:-0} > 0"
fi
kill -0 "$bystander" 2>/dev/null && alive=1 || alive=0
lib_show "$log" 3
expect "other traffic goes on" "$alive" 1
stop "$bystander"
kill -0 "$mover" 2>/dev/null && alive=1 || alive=0
expect "a netdev moves all the time" "$alive" 1
diag "$(tail -n 1 "$lib_tmp/moves")"
stop "$mover"
rdma link delete cairn_c 2>/dev/null
ip -n a link delete vd
ip netns del c
# the calls changed these, too
settings_back() {
	local device

	for device in "$DEV_A" "$DEV_B"; do
		cairn_fault "$device" clear || return
		cairn_set "$device" idle-time=default loopback=self fabric= capture=yield \
			persistent=declared congestion-control=off || return
	done
}
run_ok "the devices get their settings back" settings_back
none_left() { ! rdma resource show qp | grep -qE 'type (RC|UC|UD).*comm'; }
run_ok "no object is left" wait_for 30 none_left
run_ok "the devices work as before" in_a verbs_verify -n 100
