#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 450
# kernels: 6.1 6.12
# once: 6.12
# boot: own
#
# A chain of hops: the writer at a, the first hop at b, two more at c, which b reaches by
# another device. Hops are killed and stopped in the middle of it.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

IP_C=10.78.0.2
in_c() { ip netns exec c "$@"; }
# the hops
first='' second='' third='' fourth=''

ip netns add c
ip link add wb type veth peer name wc
ip link set wb netns b
ip link set wc netns c
ip -n b -batch - <<-END
	link set wb address 02:00:00:78:00:01 mtu 9000 up
	addr add 10.78.0.1/24 dev wb
END
ip -n c -batch - <<-END
	link set lo up
	link set wc address 02:00:00:78:00:02 mtu 9000 up
	addr add $IP_C/24 dev wc
END
in_b rdma link add cairn_w type cairn netdev wb || bail "no device"
in_c rdma link add cairn_c type cairn netdev wc || bail "no device"
for dev in cairn_w cairn_c; do
	wait_for 20 port_is $dev ACTIVE || bail "no port"
done

# hop NAME b|c PORT [OPTION]...: ready when this returns, its pid in $NAME
hop() {
	local name=$1

	rm -f "$lib_tmp/$name"
	start_server "$2" "$lib_tmp/$name.log" "cairn_chain serve -m $lib_tmp/$name -s 8M -p $3 ${*:4}"
	printf -v "$name" %s "$started"
}

# chain [OPTION]...: three hops on new media; the options are those of the first one
chain() {
	hop third c 7483
	hop second c 7482 -n "$IP_C,7483"
	hop first b 7481 -n "$IP_C,7482" "$@"
}

unchain() {
	for name in first second third; do
		stop "${!name}"
	done
}

# verify POINT HOP NUMBER
verify() { run_ok "$1" cairn_chain verify -m "$lib_tmp/$2" -k "$3"; }

# begin RECORDS: a writer in the background; some records are durable
begin() {
	rm -f "$lib_tmp/acked"
	start a "$lib_tmp/writer" "exec cairn_chain write -a $IP_B,7481 -c $1 -o $lib_tmp/acked"
	writer=$started
	wait_for 60 test -s "$lib_tmp/acked"
}

ends() {
	local rc=0

	lib_wait $((100 * ${CAIRN_TIMEOUT_SCALE:-1})) "$writer" || rc=$?
	expect "$1" $rc "$2"
	[ $rc = "$2" ] || lib_show "$lib_tmp/writer"
	acked=$(($(cat "$lib_tmp/acked")))
	diag "$acked records were reported"
}

hop third c 7483
run_ok "-p is behind the address" in_b cairn_chain write -a "$IP_C" -p 7483 -c 5
run_fail "a file for -o that takes nothing" in_b cairn_chain write -a "$IP_C,7483" -c 5 -o /dev/full
expect "... is reported once, and the records are durable" "$(output | sed 's/durable.*/durable/')" \
	"cairn_chain: /dev/full: No space left on device
5 records durable"
run_fail "a name that is not known" in_b cairn_chain write -a no_host -c 1
expect "... is said" "$(output)" "cairn_chain: no_host: No route to host"
stop "$third"

chain
run_ok "three hops" in_a cairn_chain write -a "$IP_B,7481" -c 300 -o "$lib_tmp/acked"
diag "$(output)"
for name in first second third; do
	verify "the $name hop has all" $name 300
done
run_fail "one more is not there" cairn_chain verify -m "$lib_tmp/third" -k 301

# the one in the middle dies
begin 8000
kill -KILL -- "-$second"
ends "a hop dies: the writer gets an error" 1
for name in first second third; do
	verify "a hop dies: the $name one has what was reported" $name "$acked"
done
run_fail "a hop that is not there: no writer is let in" \
	in_a cairn_chain write -a "$IP_B,7481" -c 1
unchain

# another one takes its place
chain -x hold -n "$IP_C,7483"
begin 4000
early=$(($(cat "$lib_tmp/acked")))
kill -KILL -- "-$second"
ends "the chain is mended: the writer goes on" 0
expect "the first hop says so" "$(grep -c "next hop is $IP_C,7483" "$lib_tmp/first.log")" 1
verify "the chain is mended: the first hop has all" first 4000
verify "the chain is mended: the third hop has all" third 4000
verify "the second one has what was reported while it lived" second "$early"
unchain

# the chain ends where it broke
chain -x cut
begin 2000
kill -KILL -- "-$second"
ends "the chain is cut: the writer goes on" 0
verify "the chain is cut: the first hop has all" first 2000
unchain

# the one in the middle hangs
chain -d 2000
begin 8000
kill -STOP -- "-$second"
ends "a hop hangs: the writer gets an error" 1
expect_that "the first hop says why" "$(grep -c 'next hop is lost' "$lib_tmp/first.log") == 1"
for name in first second third; do
	verify "a hop hangs: the $name one has what was reported" $name "$acked"
done
kill -CONT -- "-$second"
unchain

# two copies, by a chain and by a fan-out, in turns
hop second c 7482
hop first b 7481 -n "$IP_C,7482"
hop third b 7484
hop fourth b 7485
for bytes in 64 4096; do
	for window in 1 16; do
		run_ok "chain, $bytes bytes, $window in flight" in_a cairn_chain write \
			-a "$IP_B,7481" -c 400 -l $bytes -w $window
		diag "$(output)"
		run_ok "fan-out, $bytes bytes, $window in flight" in_a cairn_chain write \
			-a "$IP_B,7484" -a "$IP_B,7485" -c 400 -l $bytes -w $window
		diag "$(output)"
	done
done
unchain
stop "$fourth"

run_fail "a port that is none is refused" cairn_chain serve -m "$lib_tmp/none" -p 70000
expect "... as such" "$(output | grep -c -e '-p 70000: want 1 to 65535')" 1

# the device of two hops goes, and that of a target of cairn_log
start_server c "$lib_tmp/log" "cairn_log serve -m $lib_tmp/log.file -s 16M -p 7490"
log=$started
start b "$lib_tmp/append" "exec cairn_log append -c -e -a $IP_C,7490 -n 1000000 -l 8"
append=$started
chain
begin 8000
wait_for 60 grep -q 'next record' "$lib_tmp/append" || lib_show "$lib_tmp/append"
in_c rdma link delete cairn_c
ends "a device goes: the writer gets an error" 1
expect_exit "... and its hop ends" 60 "$third" 1
expect "... and says why" "$(grep -c 'the device: No such device' "$lib_tmp/third.log")" 1
expect_exit "... and a target of cairn_log ends" 60 "$log" 1
expect "... and says why" "$(grep -c 'the device: No such device' "$lib_tmp/log")" 1
stop "$append"
verify "... the first hop has what was reported" first "$acked"
unchain
in_b rdma link delete cairn_w
ip netns delete c
