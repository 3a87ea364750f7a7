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
# Secret memory is on by default from 6.5 on, and off before.
points odp_pages

log=$lib_tmp/hold
no_regions() { ! rdma resource show mr | grep -q 'comm odp'; }

for how in KILL TERM; do
	start a "$log" "odp hold"
	wait_for 60 grep -q holds "$log" || { not_ok "it works until it is ended"; lib_show "$log"; }
	expect "regions on demand are shown" "$(rdma resource show mr | grep -c 'comm odp')" 5
	kill -$how "$started"
	wait "$started" 2>/dev/null
	run_ok "a process that got $how leaves no region" wait_for 30 no_regions
done

# Pages that do not come while a file system is frozen.
frozen=$lib_tmp/frozen

# stuck DEVICE: a process waits for such pages by advice, and another because of a peer
stuck() {
	start host "$log" "env CAIRN_B=$1 odp_stuck $frozen hold"
	wait_for 60 grep -q ready "$log" || bail "no regions on $1"
	fsfreeze -f "$frozen" && kill -USR1 "$started"
	wait_for 60 grep -q stuck "$log" || not_ok "pages of $1 do not come"
}
unstuck() {
	fsfreeze -u "$frozen"
	stop "$started"
	wait_for 30 no_regions
}
# soon NAME CMD...: CMD ends well, within a second on a machine that is not emulated
soon() {
	local from=${EPOCHREALTIME/./} name=$1 rc=0

	shift
	lib_run "$@" || rc=$?
	took=$(((${EPOCHREALTIME/./} - from) / 1000))
	diag "$*: $took ms"
	expect_that "$name" "$rc == 0 && $took < 5000 * ${CAIRN_TIMEOUT_SCALE:-1}"
}
link_again() {
	in_b rdma link add "$DEV_B" type cairn netdev "$IF_B" &&
		wait_for 20 port_is "$DEV_B" ACTIVE || bail "no device"
}
# namespace NAME: with one end of a veth pair that has a name like its own
namespace() {
	ip -batch - <<-END
	netns add $1
	link add h_$1 type veth peer name n_$1 netns $1
	link set h_$1 up
	END
	ip -n "$1" addr add 10.78.0.2/24 dev "n_$1"
	ip -n "$1" link set "n_$1" up
}
# Namespaces end in turn: when the next one has ended, this one has, too.
namespace_ends() {
	ip netns delete "$1"
	namespace next
	ip netns delete next
	wait_for 60 eval "! ip link show h_next 2>/dev/null"
}

if modprobe -a loop ext4 2>/dev/null; then
	mkdir "$frozen"
	truncate -s 16M "$lib_tmp/image"
	mkfs.ext4 -q "$lib_tmp/image" || bail "no file system"
	# mount -o loop fails without CONFIG_BLK_DEV_WRITE_MOUNTED: it has the device open
	loop=$(losetup --find --show "$lib_tmp/image") && mount "$loop" "$frozen" ||
		bail "no file system that can be frozen"
	points odp_stuck "$frozen"

	stuck "$DEV_B"
	soon "a link is deleted meanwhile" rdma link delete "$DEV_B"
	run_ok "... and advice that waits fails" wait_for 10 grep -q 'advised: Input/output' "$log"
	soon "the module stays, and rmmod says so" eval '! rmmod cairn'
	unstuck
	link_again

	# ib_core waits for the system call of a process. Nothing else does.
	start host "$log" "env CAIRN_B=$DEV_B odp_stuck $frozen call"
	wait_for 60 grep -q ready "$log" || bail "no page for a reply"
	fsfreeze -f "$frozen" && kill -USR1 "$started"
	wait_for 60 grep -q stuck "$log" || not_ok "a reply waits for its page"
	rdma link delete "$DEV_B" &
	deleting=$!
	sleep 1
	diag "the link's end $(kill -0 $deleting 2>/dev/null && echo waits || echo "does not wait")"
	namespace beside
	soon "another link is made meanwhile" \
		ip netns exec beside rdma link add cairn_n type cairn netdev n_beside
	soon "... and deleted" rdma link delete cairn_n
	soon "... and netdevs" ip link delete h_beside
	soon "... and another device works" env CAIRN_B="$DEV_A" odp transfers
	fsfreeze -u "$frozen"
	soon "the link is gone when the page has come" wait_for 10 eval '! rdma link show "$DEV_B/1"'
	run_ok "... and the call has succeeded" wait_for 10 grep -q 'called: [1-9]' "$log"
	stop "$started"
	wait "$deleting"
	ip netns delete beside
	link_again

	namespace stuck
	ip netns exec stuck rdma link add cairn_s type cairn netdev n_stuck &&
		wait_for 20 port_is cairn_s ACTIVE || bail "no device in a namespace"
	stuck cairn_s
	soon "a network namespace ends meanwhile" namespace_ends stuck
	run_ok "... and its device" eval '! rdma link show cairn_s/1'
	unstuck
	umount "$frozen"
	losetup --detach "$loop"
	run_ok "no region is left of them" wait_for 30 no_regions
else
	skip "pages that do not come" "this kernel has no file system that can be frozen"
fi

start a "$log" "odp hold"
wait_for 60 grep -q holds "$log" || not_ok "it works until the module is unloaded"
run_ok "the module is unloaded meanwhile" rmmod cairn
stop "$started"
modprobe cairn && links_again || bail "no devices"
points odp transfers
