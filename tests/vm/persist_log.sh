#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 450
# kernels: 6.1 6.12
# once: 6.12
# nvdimm: 256M
#
# The example, a log on devdax and in a file, and its records after its target was
# killed; the measuring tool in all its modes.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

need_devdax
size=4M
acked=$lib_tmp/acked

# serve LOG MEMORY [OPTION]...: in b; ready when this returns
serve() {
	start_server b "$1" "cairn_log serve -m $2 -s $size ${*:3}"
}

append() { run_ok "$1" in_a cairn_log append -a "$IP_B" -c -o "$acked" "${@:2}"; }
seen() { if wait_for 60 "${@:2}"; then ok "$1"; else not_ok "$1"; fi; }
verify() { run_ok "$1" cairn_log verify -m "$2" -s $size -k "$3"; }

for bad in 4Q 4MB M -4M 0 12k; do
	run_fail "-s $bad is refused" cairn_log verify -m /dev/dax0.0 -s $bad
done

# the NVDIMM may have any contents
run_ok "devdax: wiped" cairn_log wipe -m /dev/dax0.0 -s $size
serve "$lib_tmp/s1" /dev/dax0.0 -1
server=$started
run_fail "devdax: a second server is refused" in_b cairn_log serve -m /dev/dax0.0 -s $size -p 7475 -1
expect "devdax: a second server: it says why" "$(output | grep -c 'another cairn_log writes it')" 1
run_fail "devdax: a log that is served is not wiped" cairn_log wipe -m /dev/dax0.0 -s $size
append "devdax: records" -n 300
expect "the target names the domain" \
	"$(grep -c 'persistent memory, NIC flush' "$lib_tmp/s1")" 1
wait_for 30 lib_gone "$server"
last=$(($(cat "$acked")))
verify "devdax: all are there" /dev/dax0.0 $last
run_fail "devdax: one more is not" cairn_log verify -m /dev/dax0.0 -s $size -k $((last + 1))
serve "$lib_tmp/s1" /dev/dax0.0 -1
server=$started
append "devdax: more behind them" -n 20
wait_for 30 lib_gone "$server"
verify "devdax: all are there" /dev/dax0.0 $((last + 20))

serve "$lib_tmp/s2" "$lib_tmp/file" -1
server=$started
run_fail "file: a second server is refused" in_b cairn_log serve -m "$lib_tmp/file" -p 7475 -1
append "file: records by host flush" -n 100 -l 5000
wait_for 30 lib_gone "$server"
verify "file: all are there" "$lib_tmp/file" 100
serve "$lib_tmp/s3" "$lib_tmp/file" -1
server=$started
append "file: more records behind them" -n 50
wait_for 30 lib_gone "$server"
verify "file: all are there" "$lib_tmp/file" 150

# The target's host answers no ARP until the writer's kernel has given up once. That state
# is a short one, as the writer tries again for 30 s: a list of all changes has it.
start a "$lib_tmp/neighbours" "exec ip monitor neigh dev $IF_A"
monitor=$started
late_neighbour() { grep -q "^$IP_B .*FAILED" "$lib_tmp/neighbours"; }
serve "$lib_tmp/s5" "$lib_tmp/file" -1
server=$started
in_b sysctl -qw "net.ipv4.conf.$IF_B.arp_ignore=8"
in_a ip neigh flush to "$IP_B"
start a "$lib_tmp/late" "exec cairn_log append -a $IP_B -n 10"
wait_for 30 late_neighbour || diag "the neighbour is known"
stop "$monitor"
in_b sysctl -qw "net.ipv4.conf.$IF_B.arp_ignore=0"
seen "a host that answers late is found" grep -q '10 records durable' "$lib_tmp/late"
wait_for 30 lib_gone "$server" || stop "$server"

serve "$lib_tmp/s4" anonymous -p 7472
run_fail "emulated: is refused" in_a cairn_log append -c -a "$IP_B" -p 7472 -n 10
expect "emulated: it says why" "$(output | grep -c 'keeps nothing')" 1
expect "emulated: says so" "$(in_a cairn_log append -c -e -a "$IP_B" -p 7472 -n 10 |
	grep -c EMULATED)" 1
stop "$started"

# the target is killed in the middle: reported records are there, the writer gets an error
serve "$lib_tmp/s5" "$lib_tmp/file2"
server=$started
start a "$lib_tmp/w5" "cairn_log append -c -a $IP_B -n 1000000 -o $lib_tmp/acked2"
writer=$started
wait_for 60 test -s "$lib_tmp/acked2"
kill -KILL -- "-$server"
expect_exit "the writer gets an error" 100 "$writer" 1
verify "reported records are there" "$lib_tmp/file2" $(($(cat "$lib_tmp/acked2")))

# a target is replaced
one=$lib_tmp/one two=$lib_tmp/two
# room for all records that a writer appends before it is stopped
serve "$lib_tmp/s6" "$one" -p 7473 -s 32M
first=$started
serve "$lib_tmp/s7" "$two" -p 7474
second=$started
both=(-a "$IP_B,7473" -a "$IP_B,7474" -o "$acked")
run_fail "without -c no log is made" in_a cairn_log append "${both[@]}" -n 1
run_ok "two targets" in_a cairn_log append "${both[@]}" -c -n 40
stop "$second"
rm "$two"
serve "$lib_tmp/s7" "$two" -p 7474
second=$started
run_fail "an empty target is refused" in_a cairn_log append "${both[@]}" -c -n 1
expect "an empty target: it says why" "$(output | grep -c 'is empty (-f fills it')" 1
verify "the other one is as it was" "$one" 40
run_ok "with -f it is filled" in_a cairn_log append "${both[@]}" -f -n 3
verify "all records at the first" "$one" 43
verify "all records at the second" "$two" 43

# one of two is enough
run_fail "another quorum is refused" in_a cairn_log append "${both[@]}" -q 1 -n 1
expect "another quorum: it says why" "$(output | grep -c 'a quorum of 2, not 1')" 1
run_ok "the members agree to another quorum" in_a cairn_log members "${both[@]:0:4}" -q 1
expect "and say how many a writer needs" "$(output | grep -c 'a record needs 1, a writer 2')" 1
start a "$lib_tmp/w7" "cairn_log append ${both[*]} -q 1 -n 5000 -l 100"
writer=$started
wait_for 60 grep -qv ' 43$' "$acked"
kill -KILL -- "-$second"
expect_exit "with -q 1 the writer goes on without a target" 100 "$writer" 0
expect "it names the target" "$(grep -c '7474: lost' "$lib_tmp/w7")" 1
verify "reported records are at the first" "$one" 5043
run_fail "the second is behind" cairn_log verify -m "$two" -k 5043
serve "$lib_tmp/s7" "$two" -p 7474
second=$started
run_ok "the next writer brings it up to date" in_a cairn_log append "${both[@]}" -n 1
expect_that "it says so" "$(output | grep -c 'copied to targets') == 1"
verify "all records at the second again" "$two" 5044
stop "$second"
rm "$two"
serve "$lib_tmp/s7" "$two" -p 7474
second=$started
run_ok "another log" in_a cairn_log append -a "$IP_B,7474" -c -n 3
run_fail "it is not taken for a copy" in_a cairn_log append "${both[@]}" -f -n 1
expect "it is not taken for a copy: it says why" "$(output | grep -c 'has another log than')" 1
verify "nothing is written over the first" "$one" 5044
verify "nothing is written over the second" "$two" 3
stop "$second"

# what was reported may have been at the second alone
target=(-a "$IP_B,7473")
run_fail "one member of two is refused" in_a cairn_log append "${target[@]}" -n 1
expect "one member of two: it says why" "$(output | grep -c 'has 2 members, and 1 are')" 1
run_fail "a command does not make it the only one" in_a cairn_log members "${target[@]}" -q 1
run_fail "nor when the other one is gone" in_a cairn_log members "${target[@]}" -q 1 -F
run_ok "with the loss of records it does" in_a cairn_log members "${target[@]}" -q 1 -F -F

# a writer that is connected and silent
start a "$lib_tmp/w8" "exec cairn_log append ${target[*]} -n 1000000 -l 100 -o $lib_tmp/acked8"
writer=$started
wait_for 60 test -s "$lib_tmp/acked8"
kill -STOP -- "-$writer"
run_fail "a second writer is refused" in_a cairn_log append "${target[@]}" -n 1
expect "a second writer: it says why" "$(output | grep -c 'has another writer')" 1
run_ok "with -t it takes over" in_a cairn_log append "${target[@]}" -t -n 10 -o "$acked"
kill -CONT -- "-$writer"
expect_exit "the first one can not write any more" 100 "$writer" 1
verify "the records of both are there" "$one" $(($(cat "$acked")))
expect_that "those of the second are the last" "$(cat "$acked") >= $(cat "$lib_tmp/acked8") + 10"

# a writer dies with its network: the target is not told
modprobe sch_netem
start a "$lib_tmp/w9" "exec cairn_log append ${target[*]} -n 1000000 -l 100 -o $lib_tmp/acked9"
writer=$started
wait_for 60 test -s "$lib_tmp/acked9"
in_a tc qdisc replace dev "$IF_A" root netem loss 100%
kill -KILL -- "-$writer"
wait "$writer" 2>/dev/null
in_a tc qdisc del dev "$IF_A" root
run_ok "a writer takes over from a dead one" in_a cairn_log append "${target[@]}" -t -n 10 -o "$acked"
verify "records reported to the dead writer are there" "$one" $(($(cat "$acked")))
expect "the target reports the takeovers" "$(grep -c 'is cut off' "$lib_tmp/s6")" 2
stop "$first"

back_twice() { [ "$(grep -c 'a target is back' "$lib_tmp/w10")" = 2 ]; }

# two of three: one is not there, comes back, and another one hangs
three=(-a "$IP_B,7476" -a "$IP_B,7477" -a "$IP_B,7478" -o "$acked")
serve "$lib_tmp/t6" "$lib_tmp/three6" -p 7476 -s 16M
sixth=$started
serve "$lib_tmp/t7" "$lib_tmp/three7" -p 7477 -s 16M
seventh=$started
serve "$lib_tmp/t8" "$lib_tmp/three8" -p 7478 -s 16M
run_ok "three targets" in_a cairn_log append "${three[@]}" -c -q 2 -n 5
stop "$started"
run_ok "two of them are enough to begin" in_a cairn_log append "${three[@]}" -n 5
expect "it says which one is not there" "$(output | grep -c '7478: left out')" 1
start a "$lib_tmp/w10" "exec cairn_log append ${three[*]} -n 1000000 -l 100 -d 2000"
writer=$started
wait_for 60 grep -qv ' 10$' "$acked"
serve "$lib_tmp/t8" "$lib_tmp/three8" -p 7478 -s 16M
eighth=$started
seen "the third is taken back" grep -q 'a target is back, 3 of 3' "$lib_tmp/w10"
kill -STOP -- "-$seventh"
seen "one that hangs is left out" grep -q '7477: lost' "$lib_tmp/w10"
now=$(cat "$acked")
seen "the others go on" grep -qv "$now" "$acked"
kill -CONT -- "-$seventh"
seen "it is taken back, too" back_twice
kill -TERM -- "-$writer"
wait "$writer" 2>/dev/null
verify "what was reported is at the first" "$lib_tmp/three6" $(($(cat "$acked")))
verify "what was reported is at the third" "$lib_tmp/three8" $(($(cat "$acked")))
stop "$sixth"
stop "$seventh"
stop "$eighth"

# measure NAME 'TARGET OPTION...' 'INITIATOR OPTION...'
measure() {
	PAIR_READY=listening pair_run "$1" "cairn_persist -d $DEV_B $2" \
		"cairn_persist -d $DEV_A -n 400 -j $3 $IP_B" && diag "$(output)"
	[ "$1" != persist ] || persist_line=$(output)
}

persist_line=
for mode in persist early write+read write+send; do
	measure "$mode" "-M /dev/dax0.0" "-m $mode"
done
expect_that "request packets of WRITE_PERSIST are counted" \
	"$(grep -o '"request_packets": [0-9]*' <<<"$persist_line" | cut -d ' ' -f 2) == 1"
measure "persist, host flush" "-M /dev/dax0.0 -k host" "-m persist"

# cache lines that are written back to other memory are not durable: it is refused
why='not known to be persistent'
run_fail "host flush of anonymous memory is refused" in_b cairn_persist -d "$DEV_B" -k host
expect "... and why" "$(output | grep -c "$why")" 1
insmod "$(kmod cairn_media_test)" zero=is_nvdimm_sync || bail "cairn_media_test"
run_fail "host flush of devdax that needs more than a write-back is refused" \
	in_b cairn_persist -d "$DEV_B" -M /dev/dax0.0 -k host
expect "... and why" "$(output | grep -c "$why")" 1
start_server b "$lib_tmp/hop" "cairn_chain serve -m /dev/dax0.0 -s $size"
run_fail "a hop of a chain with such devdax lets no writer in" in_a cairn_chain write -a "$IP_B" -c 5
expect "... and says why" "$(grep -c "$why" "$lib_tmp/hop")" 1
rmmod cairn_media_test
run_ok "... but where a write-back is enough" in_a cairn_chain write -a "$IP_B" -c 5
stop "$started"
run_ok "... and has the records" cairn_chain verify -m /dev/dax0.0 -s $size -k 5

# A target with less memory than a message has bytes; all other parameters are right.
cat >"$lib_tmp/card.py" <<'END'
import socket
import struct
import sys

gid = bytes(10) + b'\xff\xff' + socket.inet_aton(sys.argv[1])
listener = socket.create_server((sys.argv[1], 18516))
print('listening', flush=True)
end, _ = listener.accept()
end.recv(72, socket.MSG_WAITALL)
end.sendall(gid + struct.pack('=4I2Q2IQ2I', 17, 0x1000, 1, 0, 4096, 63, 0, 0, 0, 3, 0))
end.sendall(b'\0')
end.recv(1)
END
start_server b "$lib_tmp/card" "exec /usr/bin/python3 $lib_tmp/card.py $IP_B"
run_fail "a target without room is refused" in_a cairn_persist -d "$DEV_A" -s 64 -n 4 "$IP_B"
expect "and why" "$(output | grep -c 'the other end: Protocol error')" 1
stop "$started"
