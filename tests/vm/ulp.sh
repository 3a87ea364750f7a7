# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck disable=SC2154
# shellcheck shell=bash
#
# Functions for tests of storage drivers and file systems over RDMA. Most of those
# drivers work in the initial network namespace only, and would use lo between two of
# its interfaces. So both ends are one device there.

ULP_IP=10.79.0.1 ULP_DEV=cairn_u ULP_IF=ulp0
CONFIGFS=/sys/kernel/config

# ulp_modules NAME...: load them; skips the whole test when there is none
ulp_modules() {
	local m

	for m; do
		modprobe "$m" || skip_all "this kernel has no module $m"
	done
}

# ulp_programs NAME...: the same for programs
ulp_programs() {
	local p

	for p; do
		command -v "$p" >/dev/null || skip_all "no program $p: run 'make deps'"
	done
}

ulp_up() {
	ip -batch - <<-END || bail "no interface"
	link add $ULP_IF type veth peer name ulp1
	link set ulp1 up
	link set $ULP_IF mtu 9000 up
	addr add $ULP_IP/24 dev $ULP_IF
	END
	rdma link add $ULP_DEV type cairn netdev $ULP_IF || bail "no device"
	wait_for 20 port_is $ULP_DEV ACTIVE || bail "$ULP_DEV does not become active"
	mountpoint -q $CONFIGFS || mount -t configfs none $CONFIGFS
}

ulp_down() {
	[ ! -e /sys/class/infiniband/$ULP_DEV ] || rdma link delete $ULP_DEV
	ip link delete $ULP_IF
}

# Only ib_core's own queue pairs are left: all connections have ended.
ulp_idle() {
	[ "$(rdma resource show qp link $ULP_DEV 2>/dev/null | grep -vc 'type GSI')" = 0 ]
}

ulp_has_srq() { rdma resource show srq dev $ULP_DEV | grep -q srqn; }

# disk_verify DISK: write random blocks of several sizes, read them again
disk_verify() {
	local bs

	for bs in 4k 64k 1M; do
		dd if=/dev/urandom of="$lib_tmp/data" bs=64k count=64 status=none || return 1
		dd if="$lib_tmp/data" of="$1" bs=$bs oflag=direct status=none || return 1
		dd if="$1" of="$lib_tmp/back" bs=$bs count=4M iflag=direct,count_bytes status=none || return 1
		cmp "$lib_tmp/data" "$lib_tmp/back" || return 1
	done
}

# disk_load DISK: keep it busy until it fails; load_ends NAME: it has
disk_load() {
	start - "$lib_tmp/load" \
		"while dd if=/dev/zero of=$1 bs=64k count=16 oflag=direct conv=notrunc,nocreat; do :; done"
	ulp_load=$started
	wait_for 20 test -s "$lib_tmp/load" || diag "no load"
}

load_ends() {
	local rc=0

	lib_wait "$RUN_TIMEOUT" "$ulp_load" || rc=$?
	expect_that "$1" "$rc != 124"
}

# disk_session DISK CONNECT DISCONNECT: functions; DISK prints the name of the disk.
# Connected, used, disconnected under load.
disk_session() {
	run_ok "$2" "$2" || return
	run_ok "data: written, read, compared" disk_verify "$("$1")"
	disk_load "$("$1")"
	run_ok "$3 under load" "$3"
	load_ends "the load ends with an error"
}
