#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: none
# timeout: 120
# kernels: 6.12
# dmesg-allow: at drivers/infiniband/ulp/srpt/ib_srpt.c:[0-9]+ srpt_cache_put
#
# SRP: the kernel's target on a RAM disk, and the kernel's initiator, connected by
# rdma_cm, without a program of user space. With an SRQ the target has no cache for the
# requests of a connection, and warns when it gives that one back.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/ulp.sh
. "$(dirname "$0")/ulp.sh"

ulp_up
ulp_modules sd_mod target_core_mod ib_srpt ib_srp
# shellcheck source=tests/vm/lio.sh
. "$(dirname "$0")/lio.sh"
PORT=5555
SRPT=$CONFIGFS/target/srpt
TARGET=$SRPT/$(cat /sys/class/infiniband/$ULP_DEV/node_guid)
TPG=$TARGET/cairn
ACL=$TPG/acls/$ULP_IP

target_up() {
	# the first mkdir registers the fabric
	mkdir -p "$SRPT" && echo $PORT >"$SRPT/discovery_auth/rdma_cm_port" &&
		lio_disk_up && mkdir "$TARGET" && mkdir "$TPG" && lio_lun_up "$TPG" &&
		mkdir "$ACL" && mkdir "$ACL/lun_0" &&
		ln -s "$TPG/lun/lun_0" "$ACL/lun_0/disk" && echo 1 >"$TPG/enable"
}

target_down() {
	echo 0 >"$TPG/enable"
	rm "$ACL/lun_0/disk"
	rmdir "$ACL/lun_0" "$ACL"
	lio_lun_down "$TPG"
	rmdir "$TPG" "$TARGET" "$SRPT"
	lio_disk_down
}

add_target() {
	local id

	id=$(cat /sys/module/ib_srpt/parameters/srpt_service_guid)
	id=$(printf %016x "$id")
	echo "id_ext=$id,ioc_guid=$id,dest=$ULP_IP:$PORT" \
		>/sys/class/infiniband_srp/srp-$ULP_DEV-1/add_target
}

# EEXIST until the initiator has ended its earlier session, which takes some time
login() { wait_for 20 add_target && wait_for 20 lio_disk; }

logout() {
	local port

	for port in /sys/class/srp_remote_ports/port-*; do
		echo 1 >"$port/delete" || return 1
	done
	wait_for 20 no_disk
}

no_disk() { ! lio_disk; }

# one SRQ for all initiators
target_with_srq() {
	echo 0 >"$TPG/enable" && echo 1 >"$TPG/attrib/use_srq" && echo 1 >"$TPG/enable"
}

run_ok "a target on the device" target_up || bail "no target"
disk_session lio_disk login logout
run_ok "a target that receives through an SRQ" target_with_srq
run_ok "login again" login
run_ok "the target has an SRQ" ulp_has_srq
run_ok "data again" disk_verify "$(lio_disk)"
run_ok "logout" logout
run_ok "no queue pair is left" wait_for 30 ulp_idle
rmmod ib_srp
run_ok "the target ends" target_down
rmmod ib_srpt
ulp_down
