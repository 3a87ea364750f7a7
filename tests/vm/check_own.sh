#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 450
# kernels: 6.1 6.12
# once: 6.12
# boot: own
# nvdimm: 256M
# mem: 2G
#
# CAIRN_CHECK has no report of cairn_log, cairn_chain, cairn_persist, cairn_pgwal and the
# Python module, also where a target dies.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"

need_devdax
bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -1)
user=(setpriv --reuid=postgres --regid=postgres --clear-groups)
cairn_log wipe -m /dev/dax0.0 -s 16M
check_begin

# serve NUMBER MEMORY [OPTION]...: a target in b, ready when this returns, in $server[NUMBER]
serve() {
	start_server b "$lib_tmp/serve$1" "cairn_log serve -m $2 -s 16M -p $((7470 + $1)) ${*:3}"
	server[$1]=$started
}

# --- logs --------------------------------------------------------------------------------

targets=(-a "$IP_B,7471" -a "$IP_B,7472" -a "$IP_B,7473")
serve 1 /dev/dax0.0
serve 2 "$lib_tmp/second"
serve 3 "$lib_tmp/third"
run_ok "a log of three targets" in_a cairn_log append "${targets[@]}" -c -q 2 -n 300 -l 3000
run_ok "its members" in_a cairn_log members "${targets[@]}"
start a "$lib_tmp/writer" "exec cairn_log append ${targets[*]} -n 1500 -l 100 -o $lib_tmp/acked"
writer=$started
wait_for 60 test -s "$lib_tmp/acked"
kill -KILL -- "-${server[3]}"
expect_exit "a target dies, and the writer goes on" 100 "$writer" 0
quiet "a log that loses a target"
serve 3 "$lib_tmp/third"
run_ok "the target comes back" in_a cairn_log append "${targets[@]}" -n 5
for i in 1 2 3; do
	stop "${server[i]}"
done
run_fail "no target is there" in_a cairn_log append "${targets[@]}" -n 1
serve 4 "$lib_tmp/fourth" -1
run_ok "a target for one writer" in_a cairn_log append -a "$IP_B,7474" -c -n 10
wait_for 30 lib_gone "${server[4]}"
quiet "logs"

# --- chains ------------------------------------------------------------------------------

start_server a "$lib_tmp/hop2" "cairn_chain serve -m $lib_tmp/tail -s 8M -p 7482"
tail=$started
start_server b "$lib_tmp/hop1" "cairn_chain serve -m $lib_tmp/head -s 8M -p 7481 -n $IP_A,7482"
head=$started
run_ok "a chain" in_a cairn_chain write -a "$IP_B,7481" -c 200
stop "$tail"
run_fail "a chain without its second hop" in_a cairn_chain write -a "$IP_B,7481" -c 10
stop "$head"
quiet "chains"

# --- the measuring tool ------------------------------------------------------------------

# measure NAME 'TARGET OPTION...' MODE
measure() {
	PAIR_READY=listening pair_run "$1" "cairn_persist -d $DEV_B $2" \
		"cairn_persist -d $DEV_A -n 100 -m $3 $IP_B"
}
for mode in persist early write+read write+send; do
	measure "cairn_persist $mode" "-M /dev/dax0.0" $mode
done
measure "cairn_persist, host flush" "-M /dev/dax0.0 -k host" persist
quiet "cairn_persist"

# --- Python ------------------------------------------------------------------------------

cat >"$lib_tmp/group.py" <<END
import cairn

regions = [cairn.Region.open(f'$lib_tmp/copy{i}', 1 << 20) for i in range(2)]
targets = [cairn.Target(region, '$IP_A') for region in regions]
group = cairn.Group([target.address for target in targets], quorum=1)
for i in range(100):
    group.post(8 * i, i.to_bytes(8, 'little'))
group.wait()
targets[1].close()
group.write(0, b'go on')
group.close()
targets[0].close()
for region in regions:
    region.close()
END
run_ok "a group" in_a /usr/bin/python3 "$lib_tmp/group.py"
quiet "Python"

# --- PostgreSQL --------------------------------------------------------------------------

if [ -x "$bin/postgres" ]; then
	chmod 711 "$lib_tmp"
	install -d -o postgres -m 700 "$lib_tmp/run"
	conninfo="host=$lib_tmp/run user=postgres dbname=postgres"
	tar -C "$lib_tmp" -xf "$PROGS/pgdata.tar"
	rm -f "$lib_tmp/second" "$lib_tmp/third"
	targets=(-a "$IP_B,7472" -a "$IP_B,7473")
	serve 2 "$lib_tmp/second"
	serve 3 "$lib_tmp/third"
	start a "$lib_tmp/postgres" "exec ${user[*]} $bin/postgres -D $lib_tmp/data -k $lib_tmp/run"
	postgres=$started
	wait_for 120 grep -q 'ready to accept connections' "$lib_tmp/postgres" ||
		lib_show "$lib_tmp/postgres"
	start a "$lib_tmp/receive" "exec cairn_pgwal receive ${targets[*]} -c -q 1 '$conninfo'"
	receiver=$started
	wait_for 60 grep -q '^receiving timeline' "$lib_tmp/receive" || lib_show "$lib_tmp/receive"
	sql() { in_a psql -AtXq "$conninfo" -c "$1"; }
	run_ok "commits" sql 'CREATE TABLE t AS SELECT generate_series(1, 2000) AS n'
	segment=$(sql 'SELECT pg_walfile_name(pg_current_wal_lsn())')
	kill -KILL -- "-${server[3]}"
	run_ok "commits without a target" sql 'INSERT INTO t SELECT generate_series(1, 100)'
	stop "$receiver"
	serve 3 "$lib_tmp/third"
	run_ok "a segment is restored" in_a cairn_pgwal restore -t "${targets[@]}" "$segment" "$lib_tmp/restored"
	stop "$postgres"
	stop "${server[2]}"
	stop "${server[3]}"
	quiet "cairn_pgwal"
else
	skip "cairn_pgwal" "no PostgreSQL"
fi
