#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 600
# once: 6.12
# boot: own
# nvdimm: 256M
# mem: 2G
#
# PostgreSQL commits through cairn_pgwal to two of three targets. A target and the standby
# are killed under load. Then the primary is killed and its data is lost. A new primary is
# made of a base backup and the targets that survive: it must have each reported commit.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

need_devdax
bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -1)
[ -x "$bin/postgres" ] || bail "no PostgreSQL"
user=(setpriv --reuid=postgres --regid=postgres --clear-groups)
chmod 711 "$lib_tmp"
install -d -o postgres -m 700 "$lib_tmp/run" "$lib_tmp/base"
conninfo="host=$lib_tmp/run user=postgres dbname=postgres"
export PGHOST=$lib_tmp/run PGUSER=postgres PGDATABASE=postgres

targets=(-a "$IP_B,7481" -a "$IP_B,7482" -a "$IP_B,7483")
memory=(/dev/dax0.0 "$lib_tmp/second" "$lib_tmp/third")

# serve NUMBER: the target, ready when this returns; its process is in $server[NUMBER]
serve() {
	start_server b "$lib_tmp/serve$1" "cairn_log serve -m ${memory[$1]} -s 32M -p $((7481 + $1))"
	server[$1]=$started
}

kill_hard() {
	kill -KILL -- "-$1"
	wait "$1" 2>/dev/null
}

# primary DIRECTORY: a server of PostgreSQL, which takes connections when this returns
primary() {
	start a "$lib_tmp/primary.log" "exec ${user[*]} $bin/postgres -D $1 -k $lib_tmp/run"
	postgres=$started
	wait_for 120 grep -q 'ready to accept connections' "$lib_tmp/primary.log" ||
		lib_show "$lib_tmp/primary.log"
}

# receive LOG [OPTION]...: the standby
receive() {
	local log=$1

	shift
	rm -f "$log"
	start a "$log" "exec cairn_pgwal receive ${targets[*]} $* '$conninfo'"
	receiver=$started
	wait_for 60 grep -q '^receiving timeline' "$log" || lib_show "$log"
}

sql() { in_a psql -AtXqc "$1"; }
clients=3
# the sum of what was reported to the clients
reported() { cat "$lib_tmp"/told.* 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'; }
reported_more() { [ "$(reported)" -ge "$1" ]; }
# goes_on NAME: more commits are reported
goes_on() {
	local now

	now=$(reported)
	if wait_for 60 reported_more $((now + 10)); then ok "$1"; else not_ok "$1"; fi
}
seen() { if wait_for 60 "${@:2}"; then ok "$1"; else not_ok "$1"; fi; }
load() { start a "$lib_tmp/clients.log" "exec pgwal_client '$conninfo' $clients $lib_tmp/told"; }

# gives STATUS NAME [OPTION] FILE: a command of recovery, to $lib_tmp/restored
gives() {
	local rc=0

	lib_run in_a cairn_pgwal restore "${targets[@]}" "${@:3}" "$lib_tmp/restored" || rc=$?
	expect "$2" $rc "$1"
	[ $rc = "$1" ] || lib_show "$lib_tmp/out"
}

tar -C "$lib_tmp" -xf "$PROGS/pgdata.tar"
# the NVDIMM may have any contents
cairn_log wipe -m /dev/dax0.0 -s 32M
for i in 0 1 2; do
	serve $i
done
primary "$lib_tmp/data"

run_fail "without -c no log begins" in_a cairn_pgwal receive "${targets[@]}" "$conninfo"
expect "it says how" "$(output | grep -c 'is empty (-c creates a log)')" 1
receive "$lib_tmp/receive1" -c -q 2 -o "$lib_tmp/counters"
run_ok "a base backup" in_a "${user[@]}" "$bin/pg_basebackup" -D "$lib_tmp/base" -X none -c fast --no-sync

load
goes_on "commits are reported"
expect "the primary calls it synchronous" \
	"$(sql "SELECT application_name, sync_state FROM pg_stat_replication WHERE state = 'streaming'")" 'cairn|sync'

kill_hard "${server[2]}"
seen "a target is killed: it is named" grep -q '7483: lost' "$lib_tmp/receive1"
seen "and counted" grep -qx 'cairn_pgwal_targets_left 2' "$lib_tmp/counters"
goes_on "and commits go on"
serve 2
seen "it comes back" grep -q 'a target is back, 3 of 3' "$lib_tmp/receive1"
seen "and is counted" grep -qx 'cairn_pgwal_targets_left 3' "$lib_tmp/counters"
expect "the counters say that WAL arrives" "$(grep -cx 'cairn_pgwal_connected 1' "$lib_tmp/counters")" 1

kill_hard "$receiver"
receive "$lib_tmp/receive2"
goes_on "the standby is killed: another one goes on"

# another writer takes over: nothing more is reported
segment=$(sql 'SELECT pg_walfile_name(pg_current_wal_lsn())')
gives 200 "while the old standby runs nothing is restored" "$segment"
expect "it says why" "$(output | grep -c 'has another writer (-t takes over)')" 1
gives 0 "with -t it is" -t "$segment"
expect_exit "the standby is cut off" 60 "$receiver" 3
expect "it says so" "$(grep -c 'another writer has taken over' "$lib_tmp/receive2")" 1
now=$(reported)
sleep 1
expect "and commits wait" "$(reported)" "$now"
receive "$lib_tmp/receive3"
goes_on "until a standby is there"

# the disaster: the primary's host is lost, and one of the targets
kill_hard "$receiver"
pkill -KILL -u postgres
wait "$postgres" 2>/dev/null
rm -rf "$lib_tmp/data"
kill_hard "${server[1]}"
diag "$(reported) commits were reported"

cat >>"$lib_tmp/base/postgresql.conf" <<END
restore_command = 'cairn_pgwal restore -t ${targets[*]} %f "%p"'
recovery_target_timeline = 'latest'
END
"${user[@]}" touch "$lib_tmp/base/recovery.signal"
primary "$lib_tmp/base"
expect "a new primary: timeline 2" "$(sql 'SELECT timeline_id FROM pg_control_checkpoint()')" 2
for ((i = 0; i < clients; i++)); do
	last=$(($(cat "$lib_tmp/told.$i")))
	expect "client $i: all $last reported commits are there" \
		"$(sql "SELECT count(*) FROM told WHERE client = $i AND number <= $last")" "$last"
done
run_ok "the index is sound" in_a psql -AtXqc "SELECT bt_index_parent_check('told_pkey', true)"

# the new primary commits through it, too
run_fail "without -c no slot is made" in_a cairn_pgwal receive "${targets[@]}" "$conninfo"
expect "it names the slot" "$(output | grep -c 'has no replication slot "cairn" (receive -c makes it)')" 1
receive "$lib_tmp/receive4" -c
expect "it goes on with timeline 2" "$(grep -c '^receiving timeline 2 from' "$lib_tmp/receive4")" 1
load
goes_on "commits of the new primary are reported"
kill_hard "$receiver"
gives 0 "the history is in the log" 00000002.history
run_ok "it is the primary's" cmp "$lib_tmp/restored" "$lib_tmp/base/pg_wal/00000002.history"
gives 1 "the end of the archive" 00000003.history
kill_hard "${server[0]}"
gives 200 "too few targets: recovery must not go on" "$segment"
expect "it says which" "$(output | grep -c '1 of 3 member(s) answer, 2 needed')" 1
pkill -KILL -u postgres
