#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: none
# timeout: 150
# kernels: 6.1 6.12
#
# NVMe over Fabrics: the kernel's target and its initiator.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/ulp.sh
. "$(dirname "$0")/ulp.sh"

ulp_programs nvme
modprobe null_blk nr_devices=0 || skip_all "this kernel has no module null_blk"
ulp_modules nvmet_rdma nvme_rdma
ulp_up
SUBSYS=$CONFIGFS/nvmet/subsystems/cairn PORT=$CONFIGFS/nvmet/ports/1

target_up() {
	local disk=$CONFIGFS/nullb/nullb0

	mkdir "$disk" && echo 1 >"$disk/memory_backed" && echo 64 >"$disk/size" &&
		echo 1 >"$disk/power" && wait_for 10 test -b /dev/nullb0 &&
		mkdir "$SUBSYS" && echo 1 >"$SUBSYS/attr_allow_any_host" &&
		mkdir "$SUBSYS/namespaces/1" &&
		echo /dev/nullb0 >"$SUBSYS/namespaces/1/device_path" &&
		echo 1 >"$SUBSYS/namespaces/1/enable" &&
		mkdir "$PORT" && echo rdma >"$PORT/addr_trtype" &&
		echo ipv4 >"$PORT/addr_adrfam" && echo $ULP_IP >"$PORT/addr_traddr" &&
		echo 4420 >"$PORT/addr_trsvcid" && ln -s "$SUBSYS" "$PORT/subsystems/cairn"
}

target_down() {
	rm -f "$PORT/subsystems/cairn"
	rmdir "$PORT"
	echo 0 >"$SUBSYS/namespaces/1/enable"
	rmdir "$SUBSYS/namespaces/1" "$SUBSYS" "$CONFIGFS/nullb/nullb0"
}

disk() {
	local d

	for d in /sys/block/nvme*n*; do
		if grep -q Linux "$d/device/model" 2>/dev/null && [ -b "/dev/${d##*/}" ]; then
			echo "/dev/${d##*/}"
			return 0
		fi
	done
	return 1
}

connect() {
	nvme connect -t rdma -n cairn -a $ULP_IP -s 4420 -i 2 -Q 32 "$@" && wait_for 20 disk
}

# One SRQ of the target serves all of its queues. The option is one of loading.
target_with_srq() {
	target_down && rmmod nvmet_rdma && modprobe nvmet_rdma use_srq=1 && target_up
}

disconnect() { nvme disconnect -n cairn; }

run_ok "a target on the device" target_up || bail "no target"
run_ok "discover" nvme discover -t rdma -a $ULP_IP -s 4420
expect "the discovery names the subsystem" "$(output | grep -c 'subnqn: *cairn')" 1
disk_session disk connect disconnect
run_ok "no queue pair is left" wait_for 30 ulp_idle
run_ok "a target that receives through an SRQ" target_with_srq
# the initiator polls one of its queues itself
run_ok "connect again" connect --nr-poll-queues=1
run_ok "the target has an SRQ" ulp_has_srq
run_ok "data again" disk_verify "$(disk)"
disk_load "$(disk)"
run_ok "the device goes away under load" rdma link delete $ULP_DEV
load_ends "the disk went with it"
nvme disconnect-all >/dev/null 2>&1
run_ok "the target ends" target_down
ulp_down
run_ok "the modules unload" rmmod nvme_rdma nvmet_rdma null_blk
