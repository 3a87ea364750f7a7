#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 400
# kernels: 6.1 6.12
# boot: reload
# dmesg-allow: at fs/exec.c:[0-9]+ path_noexec
#
# Memory regions of dma-bufs, with each exporter that the kernel has and that needs no
# hardware: udmabuf and the system heap (6.12 only), vgem. 6.17 warns when a program maps a
# dma-buf, as the file system of dma-bufs has no SB_I_NOEXEC there.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
modprobe -q vgem
for _ in 1 2 3; do
	[ -e /dev/dri/card0 ] || nap
done

# how many dma-bufs there are
buffers() {
	sed -n 's/^Total \([0-9]*\) objects.*/\1/p' /sys/kernel/debug/dma_buf/bufinfo
}
buffers_are() { [ "$(buffers)" = "$1" ]; }

# exporter NAME DEVICE
exporter() {
	local before log=$lib_tmp/hold

	if [ ! -e "$2" ]; then
		skip "$1" "this kernel has no $2"
		return
	fi
	before=$(buffers)
	points dmabuf "$1"
	run_ok "$1: no buffer is left" wait_for 20 buffers_are "$before"
	start a "$log" "dmabuf $1 hold"
	if wait_for 60 grep -q holds "$log"; then
		expect "$1: regions keep a buffer that has no other user" "$(buffers)" $((before + 1))
		expect "... and are shown" "$(rdma resource show mr | grep -c 'mrlen 1048576 .*comm dmabuf')" 3
	else
		not_ok "$1: regions that are kept"
		lib_show "$log"
	fi
	kill -KILL "$started"
	wait "$started" 2>/dev/null
	run_ok "$1: a killed process leaves no buffer" wait_for 30 buffers_are "$before"
	if [ "$1" = udmabuf ] || [ "$1" = vgem ]; then
		start a "$log" "dmabuf $1 hold"
		wait_for 60 grep -q holds "$log" || not_ok "it holds"
		run_ok "$1: the module is unloaded meanwhile" rmmod cairn
		run_ok "$1: ... and no buffer is left" wait_for 30 buffers_are "$before"
		stop "$started"
		modprobe cairn && links_again || bail "no devices"
	fi
}

exporter udmabuf /dev/udmabuf
exporter heap /dev/dma_heap/system
exporter vgem /dev/dri/card0
expect_that "something was tried" "lib_done > 3"
