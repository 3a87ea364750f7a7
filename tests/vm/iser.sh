#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: none
# timeout: 150
# kernels: 6.1 6.12
# dmesg-allow: WQ_MEM_RECLAIM iscsi_ctrl_.* is flushing !WQ_MEM_RECLAIM pm:pm_runtime_work
#
# iSER: the kernel's iSCSI target on a RAM disk, and open-iscsi. Kernels whose
# pm_runtime_remove() flushes a work item (6.1.192) warn about the initiator at times.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/ulp.sh
. "$(dirname "$0")/ulp.sh"

ulp_programs iscsid iscsiadm
ulp_up
ulp_modules sd_mod target_core_mod iscsi_target_mod ib_isert ib_iser
# shellcheck source=tests/vm/lio.sh
. "$(dirname "$0")/lio.sh"
IQN=iqn.2026-01.test.cairn:disk
TARGET=$CONFIGFS/target/iscsi/$IQN
TPG=$TARGET/tpgt_1
NP=$TPG/np/$ULP_IP:3260

target_up() {
	# the first mkdir registers the fabric
	mkdir -p $CONFIGFS/target/iscsi && lio_disk_up &&
		mkdir "$TARGET" && mkdir "$TPG" && lio_lun_up "$TPG" &&
		echo 0 >"$TPG/attrib/authentication" &&
		echo 1 >"$TPG/attrib/generate_node_acls" &&
		echo 0 >"$TPG/attrib/demo_mode_write_protect" &&
		mkdir "$NP" && echo 1 >"$NP/iser" && echo 1 >"$TPG/enable"
}

target_down() {
	echo 0 >"$TPG/enable"
	echo 0 >"$NP/iser"
	rmdir "$NP"
	lio_lun_down "$TPG"
	rmdir "$TPG" "$TARGET"
	lio_disk_down
}

login() {
	iscsiadm -m node -T $IQN -p $ULP_IP:3260 --login && wait_for 20 lio_disk
}

logout() { iscsiadm -m node -T $IQN -p $ULP_IP:3260 --logout; }

run_ok "a target on the device" target_up || bail "no target"
echo InitiatorName=iqn.2026-01.test.cairn:initiator >/etc/iscsi/initiatorname.iscsi
start - "$lib_tmp/iscsid" "exec iscsid -f"
iscsid=$started
run_ok "the initiator's daemon" wait_for 20 iscsiadm -m iface
run_ok "a node over iSER" iscsiadm -m node -o new -T $IQN -p $ULP_IP:3260 -I iser
disk_session lio_disk login logout
run_ok "login again" login
expect "the session is iSER's" "$(iscsiadm -m session | grep -c '^iser:')" 1
run_ok "data again" disk_verify "$(lio_disk)"
run_ok "logout" logout
stop "$iscsid"
run_ok "no queue pair is left" wait_for 30 ulp_idle
rmmod ib_iser
run_ok "the target ends" target_down
rmmod ib_isert
ulp_down
