#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 500
# kernels: 6.1 6.12
# boot: reload
#
# Memory regions on demand.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=$((200 * ${CAIRN_TIMEOUT_SCALE:-1}))
points odp
# From 6.5 on they are there unless they were turned off, before that the other way round.
points odp_pages

log=$lib_tmp/hold
no_regions() { ! rdma resource show mr | grep -q 'comm odp'; }

for how in KILL TERM; do
	start a "$log" "odp hold"
	wait_for 60 grep -q holds "$log" || { not_ok "it works until it is ended"; lib_show "$log"; }
	expect "regions on demand are shown" "$(rdma resource show mr | grep -c 'comm odp')" 5
	kill -$how "$started"
	wait "$started" 2>/dev/null
	run_ok "nothing is left of a process that got $how" wait_for 30 no_regions
done

# Pages that do not come while a file system is frozen.
frozen=$lib_tmp/frozen
modprobe -a loop ext4 && mkdir "$frozen"
truncate -s 16M "$lib_tmp/image"
mkfs.ext4 -q "$lib_tmp/image" || bail "no file system"
mount -o loop "$lib_tmp/image" "$frozen" || bail "no file system that can be frozen"
points odp_stuck "$frozen"
umount "$frozen"
run_ok "nothing is left of them" wait_for 30 no_regions

start a "$log" "odp hold"
wait_for 60 grep -q holds "$log" || not_ok "it works until the module goes"
run_ok "the module is unloaded meanwhile" rmmod cairn
stop "$started"
modprobe cairn && links_again || bail "no devices"
points odp transfers
