#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 900
# once: 6.12
# full: 6.12 (6.1: two changes of the leader)
# boot: own
# nvdimm: 256M
# mem: 3G
#
# Writers of cairn_log that three members of etcd elect. Two writers, a member of etcd and
# a target are at a, one writer and the others at b. Leaders are stopped beyond their lease
# and go on, are killed, or are cut off with all that is at a. Members of etcd hang, or are
# killed and started again under load, also two of three. Each writer notes what is reported
# to it; the judge looks for these records in the targets. CAIRN_CHANGES=N: so many changes
# of the leader, 3 by default, 200 with CAIRN_SOAK=1.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

need_devdax
type -P etcd >/dev/null || bail "no etcd"
modprobe sch_netem
changes=${CAIRN_CHANGES:-$(full && echo 3 || echo 2)}
[ "${CAIRN_SOAK:-0}" != 1 ] || changes=${CAIRN_CHANGES:-200}
lease=8
size=192M
[ "$changes" -gt 50 ] || size=64M
RUN_TIMEOUT=$((200 * ${CAIRN_TIMEOUT_SCALE:-1}))

# --- what runs: members of etcd x, y, z; targets 0, 1, 2; writers 0, 1, 2 -----

declare -A member_at=([x]=a [y]=b [z]=b) member_address=([x]=$IP_A [y]=$IP_B [z]=$IP_B)
declare -A member_port=([x]=2391 [y]=2392 [z]=2393) member=()
memory=(/dev/dax0.0 "$lib_tmp/second" "$lib_tmp/third")
target_at=(b b a)
targets=(-a "$IP_B,7491" -a "$IP_B,7492" -a "$IP_A,7493")
server=() writer=() writer_at=(a b a) starts=0

cluster='' urls=''
for m in x y z; do
	cluster+=,$m=http://${member_address[$m]}:$((member_port[$m] + 100))
	urls+=,http://${member_address[$m]}:${member_port[$m]}
done
cluster=${cluster#,} urls=${urls#,}

# member NAME new|existing
etcd_start() {
	local client=http://${member_address[$1]}:${member_port[$1]}
	local peer=http://${member_address[$1]}:$((member_port[$1] + 100))

	start "${member_at[$1]}" "$lib_tmp/etcd.$1" "exec etcd --name $1 \
		--data-dir $lib_tmp/data.$1 --log-level error \
		--heartbeat-interval 500 --election-timeout 5000 --pre-vote \
		--initial-cluster $cluster --initial-cluster-state $2 \
		--initial-advertise-peer-urls $peer --listen-peer-urls $peer \
		--advertise-client-urls $client --listen-client-urls $client"
	member[$1]=$started
}

# a member that answers knows the leader of its cluster
etcd_answers() {
	# shellcheck disable=SC2016
	lib_in "${member_at[$1]}" timeout 5 bash -c 'exec 3<>"/dev/tcp/$1/$2" &&
		printf "GET /health HTTP/1.0\r\n\r\n" >&3 && grep -q "\"true\"" <&3' \
		- "${member_address[$1]}" "${member_port[$1]}"
}

etcd_is_whole() {
	for m in x y z; do
		wait_for 120 etcd_answers $m || return 1
	done
}

# etcd_call PATH BODY: prints the answer
etcd_call() {
	# shellcheck disable=SC2016
	in_b timeout 10 bash -c 'exec 3<>"/dev/tcp/$1/$2" && printf "POST %s HTTP/1.0\r\n\
Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" "$3" "${#4}" "$4" >&3 && cat <&3' \
		- "$IP_B" "${member_port[y]}" "$1" "$2"
}

# the leader's lease ends at once, and its own clock does not know
etcd_revoke() {
	local key id

	key=$(printf cairn_log/test/leader | base64)
	id=$(etcd_call /v3/kv/range "{\"key\":\"$key\"}" | sed -n 's/.*"lease":"\([0-9]*\)".*/\1/p')
	[ -n "$id" ] && etcd_call /v3/lease/revoke "{\"ID\":\"$id\"}" | grep -q '200 OK'
}

kill_hard() {
	kill -KILL -- "-$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

writer_start() {
	starts=$((starts + 1))
	start "${writer_at[$1]}" "$lib_tmp/writer.$1" "exec cairn_log append ${targets[*]} \
		-n 1000000000 -l 8 --reports $lib_tmp/reports.$starts --coordinator $urls \
		--name test --lease $lease"
	writer[$1]=$started
}

# --- what they say -----------------------------------------------------------

# the last leader, in $leader, and its epoch, in $epoch
look() {
	local i word n

	leader=0 epoch=0
	for i in 0 1 2; do
		while read -r word _ n; do
			[ "$word" != leader, ] || [ "$n" -le "$epoch" ] || leader=$i epoch=$n
		done <"$lib_tmp/writer.$i"
	done
}

# bytes of reports
reported() { cat "$lib_tmp"/reports.* 2>/dev/null | wc -c; }
more_than() { [ "$(reported)" -gt "$1" ]; }
later_than() { look && [ "$epoch" -gt "$1" ]; }
# stepped_down WRITER EPOCH: it does not lead in that epoch any more, and says so
stepped_down() {
	local word rest now=0

	while read -r word _ rest; do
		case "$word $rest" in
		"leader, "*) now=$rest ;;
		"cairn_log: lease has ended" | "cairn_log: has let in a newer writer") now=0 ;;
		esac
	done <"$lib_tmp/writer.$1"
	[ "$now" != "$2" ]
}
# and no zombie
alive() { [ -e "/proc/${writer[$1]}/exe" ]; }

goes_on() { wait_for 120 more_than "$(reported)"; }
# another one leads, and something is reported to it
changed() { wait_for 120 later_than "$1" && goes_on; }

show_all() {
	for f in "$lib_tmp"/writer.? "$lib_tmp"/etcd.?; do
		diag "${f##*/}:"
		lib_show "$f" 12
	done
}

# point NAME CMD...
point() {
	if "${@:2}"; then
		ok "$1"
	else
		not_ok "$1"
		show_all
	fi
}

# --- what happens to leaders -------------------------------------------------

# it goes on as one of those that wait
follows_again() {
	wait_for 120 stepped_down "$1" "$2" && alive "$1"
}

stopped() {
	local old=$leader was=$epoch

	kill -STOP -- "-${writer[$old]}"
	changed "$epoch" || return
	kill -CONT -- "-${writer[$old]}"
	follows_again "$old" "$was"
}

killed() {
	local old=$leader

	kill_hard "${writer[$old]}"
	changed "$epoch" || return
	writer_start "$old"
}

net() {
	in_a tc qdisc "$1" dev "$IF_A" root netem loss 100%
	in_b tc qdisc "$1" dev "$IF_B" root netem loss 100%
}

# it appends until the targets cut it off
revoked() {
	local old=$leader was=$epoch

	etcd_revoke || return
	changed "$was" && follows_again "$old" "$was"
}

# a leader at a, with one of three targets and one of three members
cut_off() {
	local old=$leader was=$epoch rc=0

	net add
	changed "$was" && follows_again "$old" "$was" || rc=1
	net del
	[ $rc = 0 ] && goes_on
}

# change NUMBER: in a way that fits the leader
change() {
	look
	if [ "${writer_at[$leader]}" = a ] && [ $((cuts * 4)) -le "$1" ]; then
		cuts=$((cuts + 1))
		point "change $1: a leader is cut off" cut_off
	elif [ $(($1 % 4)) = 3 ]; then
		point "change $1: a leader is killed" killed
	else
		stops=$((stops + 1))
		point "change $1: a leader is stopped beyond its lease" stopped
	fi
}

writers_end() {
	local i

	for i in 0 1 2; do
		point "writer $i is still there" alive $i
		kill_hard "${writer[$i]}"
	done
}

# --- what happens to etcd ----------------------------------------------------

one_member_restarts() {
	kill_hard "${member[$1]}"
	goes_on || return
	etcd_start "$1" existing
	etcd_is_whole && goes_on
}

one_member_hangs() {
	local rc=0

	kill -STOP -- "-${member[$1]}"
	goes_on || rc=1
	kill -CONT -- "-${member[$1]}"
	[ $rc = 0 ] && etcd_is_whole && goes_on
}

two_members_restart() {
	local old was

	look
	old=$leader was=$epoch
	kill_hard "${member[$1]}"
	kill_hard "${member[$2]}"
	# the lease cannot be renewed: no more is reported than in its time
	follows_again "$old" "$was" || return
	etcd_start "$1" existing
	etcd_start "$2" existing
	etcd_is_whole && changed "$was"
}

# --- the judge ---------------------------------------------------------------

# Lines "SEQ NUMBER CLIENT", of reports and of three copies. A record that was reported at
# SEQ is there in two copies or more. It was reported once, and is not behind SEQ again. A
# line that ends with the life of its writer may have a shorter client.
judge() {
	awk '
	FNR == 1 { file++ }
	NF != 3 || length($3) != 16 { next }
	file == 1 {
		told++
		if ($1 in at) print "two reports of number", $1
		if (($2, $3) in seq) print "two reports of record", $2, $3
		at[$1] = $2 " " $3
		seq[$2, $3] = $1
		next
	}
	{
		if (($1 in at) && at[$1] == $2 " " $3) have[$1]++
		if (($2, $3) in seq && $1 > seq[$2, $3]) print "again at", $1, $2, $3
	}
	END {
		for (n in at) if (have[n] < 2) print "lost", n, at[n]
		print told, "reports"
	}' "$@"
}

# -----------------------------------------------------------------------------

for m in x y z; do
	etcd_start $m new
done
cairn_log wipe -m /dev/dax0.0 -s $size
for i in 0 1 2; do
	start_server "${target_at[$i]}" "$lib_tmp/serve.$i" "cairn_log serve -m ${memory[$i]} -s $size -p $((7491 + i))"
	server[i]=$started
done
point "three members of etcd" etcd_is_whole
run_ok "a log with a quorum of two" in_a cairn_log append "${targets[@]}" -c -q 2 -n 1
for i in 0 1 2; do
	writer_start $i
done
point "a leader is elected" changed 0

cuts=0 stops=0
for ((i = 1; i <= changes; i++)); do
	change $i
	case $((i % 6)) in
	2) point "member x restarts under load" one_member_restarts x ;;
	3) point "two members restart under load" two_members_restart y z ;;
	4) point "member z restarts under load" one_member_restarts z ;;
	5) point "member y hangs under load" one_member_hangs y ;;
	esac
done
expect_that "leaders were stopped and cut off" "$stops > 0 && $cuts > 0"
writers_end

# a lease that is renewed every 200 s
lease=600
look
for i in 0 1 2; do
	writer_start $i
done
point "writers with a long lease" changed "$epoch"
look
point "a leader's lease is revoked" revoked
writers_end
point "nothing keeps the next one from leading" etcd_revoke

run_ok "one more leader makes the targets equal" in_b cairn_log append "${targets[@]}" -n 1 \
	--coordinator "$urls" --name test --lease $lease
diag "$(output | tail -n 1)"
for i in 0 1 2; do
	stop "${server[$i]}"
	run_ok "target $i has a log" cairn_log verify -m "${memory[$i]}" -s $size --list
	output >"$lib_tmp/list.$i"
	diag "$(grep records "$lib_tmp/list.$i" | tr '\n' ' ')"
done
for f in "$lib_tmp"/reports.*; do
	cat "$f" && echo
done >"$lib_tmp/reported"
judge "$lib_tmp/reported" "$lib_tmp"/list.? >"$lib_tmp/judged"
expect "no reported record is lost, none is doubled" "$(grep -vc reports "$lib_tmp/judged")" 0
lib_show "$lib_tmp/judged" 5
expect_that "the judge has seen reports" "$(sed -n 's/ reports//p' "$lib_tmp/judged") > 100"
