#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 240
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# Profiles of a process and of a device: programs that people use meet the limits of another NIC.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"

find_gids
# devinfo PROFILE: what ibv_devinfo -v prints, without blanks
devinfo() {
	in_a env "CAIRN_PROFILE=$1" ibv_devinfo -v -d "$DEV_A" | tr -d ' \t'
}

# Each limit of each profile that is a name of ibv_devinfo is reported, or a lower one.
wrong=0 limits=0
for file in "$(dirname "$(readlink -f "$0")")"/../../userspace/profiles/*; do
	profile=${file##*/}
	devinfo "$profile" >"$lib_tmp/$profile"
	declare -A has=()
	while IFS=: read -r name value; do
		[ -z "$name" ] || has[$name]=$value
	done <"$lib_tmp/$profile"
	while read -r name value; do
		[[ $name == max_* && $name != max_mtu && ${has[$name]-} ]] || continue
		limits=$((limits + 1))
		[ $((has[$name])) -le $((value)) ] && continue
		diag "$profile: $name is ${has[$name]}, not $value"
		wrong=$((wrong + 1))
	done <"$file"
done
expect_that "limits of profiles are compared" "$limits > 50"
expect "no limit is exceeded" "$wrong" 0
expect "an e810 has no atomics" "$(grep -c ATOMIC_NONE "$lib_tmp/e810")" 1
expect "... no XRC, and no windows" "$(grep -cE '^(XRC|MEM_WINDOW)' "$lib_tmp/e810")" 0
expect "a small one has the MTU 1024" "$(grep -c '^max_mtu:1024' "$lib_tmp/small")" 1
devinfo '' >"$lib_tmp/plain"
expect_that "without a profile the device is as before" \
	"$(grep -c ATOMIC_HCA "$lib_tmp/plain") == 1 && $(sed -n 's/^max_sge://p' "$lib_tmp/plain") > 6"

# meets PROFILE NAME PATTERN COMMAND...: the program ends with an error that says this
meets() {
	local profile=$1 name=$2 pattern=$3

	shift 3
	run_fail "$profile: $name" in_a env "CAIRN_PROFILE=$profile" timeout 60 "$@"
	expect_that "$profile: ... and says so" "$(output | grep -cE "$pattern") > 0"
}
meets e810 "a UC ping-pong" "Couldn't create QP" ibv_uc_pingpong -d "$DEV_A" -g "${gid_a[4]}"
meets e810 "a ping-pong with an SRQ" "Couldn't create SRQ" ibv_srq_pingpong -d "$DEV_A" -g "${gid_a[4]}"
meets small "a queue of 500" "Couldn't create (CQ|QP)" ibv_rc_pingpong -d "$DEV_A" -g "${gid_a[4]}"
meets none "an unknown profile" "cairn-profile: .*/none: No such file" \
	ibv_rc_pingpong -d "$DEV_A" -g "${gid_a[4]}"
for profile in connectx3 connectx5 e810 fastlinq pvrdma; do
	CAIRN_PROFILE=$profile pingpong rc 4 -n 20
done

# --- the profile of a device -----------------------------------------------------------

as_nobody() { in_a setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
chmod 666 /dev/infiniband/uverbs*
# max_sge COMMAND...: what ibv_devinfo says below this command
max_sge() { "$@" ibv_devinfo -v -d "${device:-$DEV_A}" | sed -n 's/.*max_sge:[ \t]*//p'; }
profile_of() { in_a cairn_set "$1" | sed -n 's/^profile=//p'; }

expect "a device has no profile" "$(profile_of "$DEV_A")" none
run_ok "a device gets one" in_a cairn_set "$DEV_A" profile=e810
expect "... and shows it" "$(profile_of "$DEV_A")" e810
doctor_warns() { in_a cairn_doctor -d "$DEV_A" | grep -q "^warn  $1: .*$2"; }
run_ok "... and cairn_doctor mentions it" doctor_warns profile e810
run_fail "each process meets it" in_a ibv_srq_pingpong -d "$DEV_A" -g "${gid_a[4]}"
expect "... also those of a user" "$(max_sge as_nobody)" 6
expect "... but with one of its own" "$(max_sge in_a env CAIRN_PROFILE=fastlinq)" 4
expect_that "... or none" "$(max_sge in_a env CAIRN_PROFILE=) > 6"
expect_that "another device has none" "$(device=$DEV_B max_sge in_b) > 6"
run_fail "a user takes none back" as_nobody cairn_set "$DEV_A" profile=none
run_fail "root of a user namespace gives none" as_nobody unshare -Urn cairn_set "$DEV_A" profile=small
printf 'max_qp 4\nmax_everything 1\n' >"$lib_tmp/wrong"
run_fail "a wrong profile is refused" in_a cairn_set "$DEV_A" profile="$lib_tmp/wrong"
expect "... and named" "$(output | grep -c "^cairn-profile: $lib_tmp/wrong:2: max_everything is no limit")" 1
expect "... and changes nothing" "$(profile_of "$DEV_A") $(max_sge in_a)" "e810 6"
echo 'max_sge 3' >"$lib_tmp/ours"
run_ok "a file is a profile, too" in_a cairn_set "$DEV_A" profile="$lib_tmp/ours"
echo 'max_sge 2' >"$lib_tmp/ours"
expect "... as it was" "$(profile_of "$DEV_A") $(max_sge in_a)" "$lib_tmp/ours 3"
run_ok "it is taken back, in two words" in_a cairn_set "$DEV_A" profile none idle-time default
expect_that "... and no limit is left" "$(max_sge in_a) > 6"
run_fail "a setting without a value is refused" in_a cairn_set "$DEV_A" fabric loopback=self
expect "... and named" "$(output | grep -c '^cairn_set: fabric: want a name of at most 15 ')" 1

# The choice belongs to a device, not to its name.
link_p() { in_a rdma link add cairn_p type cairn netdev profile0; }
in_a ip link add profile0 type dummy
link_p
run_ok "a device of a short life gets a profile" in_a cairn_set cairn_p profile=small
run_ok "... and another name" in_a rdma dev set cairn_p name cairn_q
expect "... and keeps the profile" "$(profile_of cairn_q) $(device=cairn_q max_sge in_a)" "small 2"
in_a rdma link delete cairn_q
link_p
run_ok "one of its first name" in_a rdma dev set cairn_p name cairn_q
expect "... and of its last has none" "$(profile_of cairn_q)" none
in_a rdma link delete cairn_q
in_a ip link delete profile0

# --- slow motion -----------------------------------------------------------------------

rules() { in_a cairn_fault "$DEV_A" list | sed 's/ .*//'; }
in_a cairn_fault "$DEV_A" add received:qp=16777215
run_ok "a device in a slow network" in_a cairn_set "$DEV_A" profile=slow
expect "... has rules behind those of others" "$(rules | tr '\n' ' ')" \
	"received:act=drop,qp=16777215 sent:act=drop,chance=0.001,seed=0 sent:act=delay,time=1200us,opcode=READ_RESP+ACK+ATOMIC_ACK+PERSIST_ACK sent:act=delay,time=1000us "
run_ok "... which cairn_doctor mentions" doctor_warns faults received:act=drop
printf 'latency 2ms\nqp_bandwidth 10mbit\n' >"$lib_tmp/slower"
run_ok "another profile replaces it" in_a cairn_set "$DEV_A" profile="$lib_tmp/slower"
expect "... and its rules" "$(rules | tr '\n' ' ')" "received:act=drop,qp=16777215 sent:act=delay,time=2000us "
run_ok "two profiles, and none again" in_a cairn_set "$DEV_A" profile=slow profile="$lib_tmp/slower" profile=none
expect "... and the rules of others stay" "$(rules)" received:act=drop,qp=16777215
mapfile -t more < <(yes received:qp=16777214 | head -n 30)
in_a cairn_fault "$DEV_A" add "${more[@]}"
run_fail "there is no room for the rules" in_a cairn_set "$DEV_A" profile=slow
expect "... and nothing has changed" "$(profile_of "$DEV_A") $(rules | grep -c received) $(rules | grep -c sent)" "none 31 0"
in_a cairn_fault "$DEV_A" clear
rm -r /run/cairn
