# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# A RAM disk of the kernel's SCSI target, for srp.sh and iser.sh.

LIO_HBA=$CONFIGFS/target/core/rd_mcp_0

lio_disk_up() {
	mkdir -p "$LIO_HBA/ulp" && echo rd_pages=16384 >"$LIO_HBA/ulp/control" &&
		echo 1 >"$LIO_HBA/ulp/enable"
}

lio_disk_down() {
	rmdir "$LIO_HBA/ulp" "$LIO_HBA"
}

# lio_lun_up TPG: the disk is LUN 0 there
lio_lun_up() {
	mkdir "$1/lun/lun_0" && ln -s "$LIO_HBA/ulp" "$1/lun/lun_0/disk"
}

lio_lun_down() {
	rm -f "$1/lun/lun_0/disk"
	rmdir "$1/lun/lun_0"
}

# the name of the disk at the initiator
lio_disk() {
	local d

	for d in /sys/block/sd*; do
		if grep -q LIO-ORG "$d/device/vendor" 2>/dev/null && [ -b "/dev/${d##*/}" ]; then
			echo "/dev/${d##*/}"
			return 0
		fi
	done
	return 1
}
