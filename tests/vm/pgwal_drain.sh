#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 400
# once: 6.12
# boot: own
# nvdimm: 256M
# mem: 2G
#
# A log that is full goes to an archive, and begins anew, while PostgreSQL commits. The
# standby is killed in the middle of it. A new primary is made of a base backup and the archive
# with the rest of the log: it must have each commit that was reported.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

need_devdax
bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -1)
[ -x "$bin/postgres" ] || bail "no PostgreSQL"
user=(setpriv --reuid=postgres --regid=postgres --clear-groups)
chmod 711 "$lib_tmp"
install -d -o postgres -m 700 "$lib_tmp/run" "$lib_tmp/base" "$lib_tmp/archive"
conninfo="host=$lib_tmp/run user=postgres dbname=postgres"
export PGHOST=$lib_tmp/run PGUSER=postgres PGDATABASE=postgres
targets=(-a "$IP_B,7481" -a "$IP_B,7482")
clients=3

# begin LOG PATTERN COMMAND: in a, until it has said that
begin() {
	rm -f "$1"
	start a "$1" "$3"
	wait_for 120 grep -q "$2" "$1" || lib_show "$1"
}
primary() {
	begin "$lib_tmp/primary.log" 'ready to accept connections' \
		"exec ${user[*]} $bin/postgres -D $1 -k $lib_tmp/run"
	postgres=$started
}
receive() {
	begin "$1" '^receiving timeline' \
		"exec ${user[*]} cairn_pgwal receive ${targets[*]} -A $lib_tmp/archive ${*:2} '$conninfo'"
	receiver=$started
}
sql() { in_a psql -AtXqc "$1"; }
reported() { cat "$lib_tmp"/told.* 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'; }
reported_more() { [ "$(reported)" -ge "$1" ]; }
# WAL that the clients do not make
fill() { sql "SET synchronous_commit = local; SELECT count(pg_logical_emit_message(false, 'x', repeat('y', 8000))) FROM generate_series(1, 300)" >/dev/null; }
emptied() { [ "$(grep -c 'the log was full: it is in' "$1")" -ge "$2" ]; }
goes_on() {
	local now

	now=$(reported)
	if wait_for 60 reported_more $((now + 10)); then ok "$1"; else not_ok "$1"; fi
}
# drained NAME LOG TIMES
drained() {
	local i

	for ((i = 0; i < 40; i++)); do
		fill
		emptied "$2" "$3" && break
	done
	if wait_for 60 emptied "$2" "$3"; then ok "$1"; else not_ok "$1"; lib_show "$2"; fi
}

tar -C "$lib_tmp" -xf "$PROGS/pgdata.tar"
cairn_log wipe -m /dev/dax0.0 -s 4M
start_server b "$lib_tmp/serve1" "cairn_log serve -m /dev/dax0.0 -s 4M -p 7481"
start_server b "$lib_tmp/serve2" "cairn_log serve -m $lib_tmp/second -s 4M -p 7482"
primary "$lib_tmp/data"
receive "$lib_tmp/receive1" -c -q 1
run_ok "a base backup" in_a "${user[@]}" "$bin/pg_basebackup" -D "$lib_tmp/base" -X none -c fast --no-sync
start a "$lib_tmp/clients.log" "exec pgwal_client '$conninfo' $clients $lib_tmp/told"
goes_on "commits are reported"

drained "a full log goes to the archive" "$lib_tmp/receive1" 1
goes_on "and commits go on"
expect "nothing says that they wait" "$(grep -c 'and commits wait' "$lib_tmp/receive1")" 0
kill -KILL -- "-$receiver"
wait "$receiver" 2>/dev/null
receive "$lib_tmp/receive2"
drained "another standby does it again" "$lib_tmp/receive2" 1
goes_on "and commits go on"
expect_that "the archive has whole segments" "$(find "$lib_tmp/archive" -name '????????????????????????' | wc -l) > 3"

kill -KILL -- "-$receiver"
pkill -KILL -u postgres
wait "$receiver" "$postgres" 2>/dev/null
rm -rf "$lib_tmp/data"
diag "$(reported) commits were reported"
run_ok "the rest of the log goes there, too" in_a "${user[@]}" cairn_pgwal archive -t "${targets[@]}" "$lib_tmp/archive"
cat >>"$lib_tmp/base/postgresql.conf" <<END
restore_command = 'cp $lib_tmp/archive/%f "%p" 2>/dev/null || cp $lib_tmp/archive/%f.partial "%p" 2>/dev/null'
recovery_target_timeline = 'latest'
END
"${user[@]}" touch "$lib_tmp/base/recovery.signal"
primary "$lib_tmp/base"
for ((i = 0; i < clients; i++)); do
	last=$(($(cat "$lib_tmp/told.$i")))
	expect "client $i: all $last reported commits are there" \
		"$(sql "SELECT count(*) FROM told WHERE client = $i AND number <= $last")" "$last"
done
run_ok "the index is sound" in_a psql -AtXqc "SELECT bt_index_parent_check('told_pkey', true)"
pkill -KILL -u postgres
