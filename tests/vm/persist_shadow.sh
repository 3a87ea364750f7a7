#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 300
# kernels: 6.1 6.12
# once: 6.12
# nvdimm: 256M
#
# Power failures without cutting the power: tests/vm/kmod/cairn_shadow.c copies lines that
# the kernel writes back, and no others, when a fence is executed. At a random
# acknowledgement that leaves the target the copy is frozen. All messages that were
# acknowledged by then must be in it. Then the same runs with defects, which the test has
# to notice.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

need_devdax
export CAIRN_DAX=/dev/dax0.0
base=$(cat /sys/bus/dax/devices/dax0.0/resource) || bail "the devdax has no address"
insmod "$(kmod cairn_shadow)" base="$base" size=$((2 << 20)) || bail "no shadow"
unload() {
	local rc=$?

	[ "$BASHPID" != $$ ] || rmmod cairn_shadow
	return $rc
}
trap 'unload; lib_exit' EXIT
RUN_TIMEOUT=$((120 * ${CAIRN_TIMEOUT_SCALE:-1}))

rounds=${CAIRN_SOAK:+2000}
shadow() {
	local name=$1

	shift
	run_ok "$name" in_a persist_shadow "$@" && diag "$(output | tail -n 1)"
}

shadow "what was acknowledged survives" -n "${rounds:-25}" -s 1
shadow "..., small packets" -n "${rounds:-10}" -m 256 -s 2
shadow "..., large packets" -n "${rounds:-10}" -m 4096 -s 3
streams=
output | grep -q ' [1-9][0-9]* bytes by non-temporal stores' && streams=yes
shadow "what a FLUSH was answered for survives" -n "${rounds:-10}" -f -s 6

if modprobe sch_netem; then
	for qdisc in "loss 2%" "duplicate 10%" "delay 1ms 1ms reorder 50% 50%"; do
		# shellcheck disable=SC2086
		in_a tc qdisc replace dev "$IF_A" root netem $qdisc
		# shellcheck disable=SC2086
		in_b tc qdisc replace dev "$IF_B" root netem $qdisc
		shadow "..., $qdisc" -n "${rounds:-6}" -s 4
	done
	in_a tc qdisc del dev "$IF_A" root
	in_b tc qdisc del dev "$IF_B" root
else
	skip "bad networks" "no sch_netem"
fi

# long messages are written back where the CPU was found to be faster so
if [ "$streams" ]; then
	ok "long messages are stored by non-temporal stores"
else
	skip "long messages are stored by non-temporal stores" "the calibration chose write-back"
fi

defects=([1]="no write-back" "the last line left out" "the first line left out" "no fence"
	"acknowledged before the fence" ${streams:+"no non-temporal stores"})
for d in "${!defects[@]}"; do
	echo "$d" >/sys/module/cairn_shadow/parameters/defect
	run_fail "noticed: ${defects[d]}" in_a persist_shadow -n 10 -s 5
	output | grep -q 'lost byte' || not_ok "... by a lost byte"
done
echo 4 >/sys/module/cairn_shadow/parameters/defect
run_fail "noticed: a FLUSH without fence" in_a persist_shadow -n 10 -f -s 5
