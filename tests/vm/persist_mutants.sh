#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 300
# kernels: 6.12
# nvdimm: 256M
#
# Can the tests of durability, and some of security, fail? The driver is loaded with one
# defect at a time (tests/vm/mutants/driver.mutants), and the test that is named there
# must find it. First each of these tests runs with the good driver. There are a few
# defects by default, and all of them in "make stress".

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/vm/topology
. "$(dirname "$0")/../../scripts/vm/topology"

mutants=$PROGS/mutants/$(uname -r)
[ -s "$mutants/list" ] || bail "no mutants were built"
need_devdax
export CAIRN_DAX=/dev/dax0.0
base=$(cat /sys/bus/dax/devices/dax0.0/resource) || bail "the devdax has no address"
declare -A seen=()
seconds=$((20 * ${CAIRN_TIMEOUT_SCALE:-1}))

# driver FILE: load this driver in place of the present one
driver() {
	local d

	for d in "$DEV_A" "$DEV_B"; do
		[ ! -e "/sys/class/infiniband/$d" ] || rdma link delete "$d"
	done
	wait_for "$seconds" module_gone && insmod "$1" &&
		device_up a "$DEV_A" cairn "$IF_A" && device_up b "$DEV_B" cairn "$IF_B"
}

# load the good driver again at the end
restore() {
	local rc=$?

	[ "$BASHPID" != $$ ] || driver "$(modinfo -n cairn)" || rc=1
	return $rc
}
trap 'restore; lib_exit' EXIT

shadow() {
	local rc=0

	insmod "$(kmod cairn_shadow)" base="$base" size=$((2 << 20)) || return 125
	in_a "$@" || rc=$?
	rmmod cairn_shadow
	return $rc
}

# kapi: succeeds if all points of the kernel consumer do
kapi() {
	echo "cairn_kapi begins" >/dev/kmsg
	insmod "$(kmod cairn_kapi_test)" a="$DEV_A" b="$DEV_B" pmem="$base" || return 125
	rmmod cairn_kapi_test
	dmesg | awk '/cairn_kapi begins/ { bad = 0 } /cairn_kapi: not ok / { bad = 1; print }
		END { exit bad }'
}

# rounds: a run has at most 8 of them, as in security.sh
rounds() {
	local rc=0 most

	insmod "$(kmod cairn_rounds)" || return 125
	in_a verbs_verify -n 50 || rc=$?
	read -r most </sys/module/cairn_rounds/parameters/most
	rmmod cairn_rounds
	[ "$most" = 8 ] || rc=1
	return $rc
}

# polls: a lane yields among many contexts that have posted, as in doorbell.sh
polls() {
	local rc=0 limits

	idle_time 1000000
	limits=$(counter "$DEV_A" lane_poll_limits)
	nsenter --net=/run/netns/a longest contexts || rc=$?
	[ "$(counter "$DEV_A" lane_poll_limits)" -gt "$limits" ] || rc=1
	idle_time default
	return $rc
}

# charged NAME: objects of this kind are charged, without a limit, as in memcg.sh
charged() {
	local rc=0 group=/sys/fs/cgroup/cairn_memcg

	echo +memory >/sys/fs/cgroup/cgroup.subtree_control && mkdir "$group" || return 125
	nsenter --net=/run/netns/a memcg "$1" || rc=$?
	rmdir "$group"
	return $rc
}

# beside MODULE COMMAND...: with a module of tests
beside() {
	local rc=0 module=$1

	shift
	insmod "$(kmod "$module")" || return 125
	nsenter --net=/run/netns/a "$@" || rc=$?
	rmmod "$module"
	return $rc
}

# finds WORD...: 0 when the test passes
finds() {
	case $1 in
	kapi | rounds | polls) "$1" ;;
	memcg) charged "$2" ;;
	verbs_basic) beside cairn_delay "$@" ;;	# it can delay lanes
	shares | security) beside cairn_taken "$@" ;;	# they have a device count more than there is
	persist_shadow) shadow persist_shadow -n "${CAIRN_SOAK:+1}5" -s 7 ;;
	*) in_a "$@" ;;
	esac
}

while IFS='|' read -r name by what; do
	if [ -z "${seen["$by"]+1}" ]; then
		# shellcheck disable=SC2086
		run_ok "the good driver: $by" finds $by
	fi
	seen[$by]=1
done <"$mutants/list"

while IFS='|' read -r -u 3 name by what; do
	driver "$mutants/$name.ko" || bail "$name cannot be loaded"
	# shellcheck disable=SC2086
	run_fail "found by $by: $name, $what" finds $by
done 3<"$mutants/list"
