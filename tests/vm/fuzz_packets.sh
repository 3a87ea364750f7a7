#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 240
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# Forged packets from a raw socket, next to traffic that must stay right. The seed is
# printed; CAIRN_SEED=N make vmtest T=fuzz_packets sends the same packets.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

# on a slow machine ten seconds are too short to reach every end
seconds=${CAIRN_FUZZ_SECONDS:-$((10 * ${CAIRN_TIMEOUT_SCALE:-1}))}
[ "${CAIRN_SOAK:-0}" = 0 ] || seconds=${CAIRN_FUZZ_SECONDS:-600}
RUN_TIMEOUT=$((seconds + 120 * ${CAIRN_TIMEOUT_SCALE:-1}))

# counters of the ways in which packets can end; each must be reached
reached="rx_packets rx_icrc_errors rx_malformed rx_wrong_qp rx_no_wqe rx_qkey_errors
	duplicate_request out_of_sequence remote_access_errors fatal_naks_sent
	acks_received stale_responses cnps_received"
# ... and those that need an outstanding request at that moment
by_chance="seq_naks_received rnr_naks_received fatal_naks_received responses_ahead
	implied_naks persist_acks_received persist_host_flushes"
before=()
for c in $reached $by_chance; do
	before+=("$(counter "$DEV_B" "$c")")
done

# shellcheck disable=SC2154
log=$lib_tmp/bystander
start a "$log" "verbs_verify -T 100000 -m 1024 -q 2 -s 4000 -w 100 -p 5"
bystander=$started
wait_for 30 grep -q running "$log" || bail "no traffic to disturb"
seed=()
[ -z "${CAIRN_SEED:-}" ] || seed=(-s "$CAIRN_SEED")
run_ok "memory that no packet may write is as it was" \
	in_a fuzz_packets -t "$seconds" "${seed[@]}"
diag "$(output)"
kill -0 "$bystander" 2>/dev/null && alive=1 || alive=0
lib_show "$log" 3
expect "other traffic goes on" "$alive" 1
stop "$bystander"

i=0 missed=
for c in $reached $by_chance; do
	now=$(counter "$DEV_B" "$c")
	diag "$c rose by $((now - before[i]))"
	[ "$now" != "${before[i]}" ] || [[ $by_chance == *$c* ]] || missed+=" $c"
	i=$((i + 1))
done
expect "packets came to every end" "$missed" ""
run_ok "the devices work as before" in_a verbs_verify -n 100
