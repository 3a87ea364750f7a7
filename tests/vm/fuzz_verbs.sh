#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 240
# kernels: 6.1 6.12
# boot: shared
#
# Random calls from several processes, next to traffic that must stay right. The seed
# is printed; CAIRN_SEED=N make vmtest T=fuzz_verbs begins with the same lives, and
# fuzz_verbs -s N -p 1 -n 1 repeats a single one.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

seconds=${CAIRN_FUZZ_SECONDS:-12}
[ "${CAIRN_SOAK:-0}" = 0 ] || seconds=${CAIRN_FUZZ_SECONDS:-600}
RUN_TIMEOUT=$((seconds + 120 * ${CAIRN_TIMEOUT_SCALE:-1}))

# shellcheck disable=SC2154
log=$lib_tmp/bystander
start a "$log" "verbs_verify -T 100000 -m 1024 -q 2 -s 4000 -w 100"
bystander=$started
wait_for 30 grep -q running "$log" || bail "no traffic to disturb"
# a seed of its own, unless one is to be repeated
seed=()
[ -z "${CAIRN_SEED:-}" ] || seed=(-s "$CAIRN_SEED")
run_ok "every process ends" in_a fuzz_verbs -t "$seconds" "${seed[@]}"
diag "$(output)"
kill -0 "$bystander" 2>/dev/null && alive=1 || alive=0
lib_show "$log" 3
expect "other traffic goes on" "$alive" 1
stop "$bystander"
none_left() { ! rdma resource show qp | grep -qE 'type (RC|UC|UD).*comm'; }
run_ok "no object is left" wait_for 30 none_left
run_ok "the devices work as before" in_a verbs_verify -n 100
