#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# cairn-link on a simulated machine: its files below a temporary directory, and fake
# programs "rdma", "cairn_set", "ip" and "udevadm".
#
#   test_link.sh HELPER-DIR
set -u

source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "$1/link.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
export CAIRN_LINK_ROOT=$work/root
conf=$CAIRN_LINK_ROOT/etc/cairn.conf
net=$CAIRN_LINK_ROOT/sys/class/net
ib=$CAIRN_LINK_ROOT/sys/class/infiniband
# shellcheck source=userspace/tests/result.sh
. "${0%/*}/result.sh"

mkdir "$work/bin"
export PATH=$work/bin:$PATH LOG=$work/log IB=$ib
# its devices are files that hold the name of their netdev
cat >"$work/bin/rdma" <<'END'
#!/bin/bash
echo "rdma $*" >>"$LOG"
name=${3%/1}
case "$1 $2" in
'link show')
	[ -e "$IB/$name" ] || exit 1
	echo "link $name/1 state ACTIVE physical_state LINK_UP netdev $(cat "$IB/$name") " ;;
'link add')
	[ "$7" != twice0 ] || {
		# while it is made no other may look
		flock -n "$CAIRN_LINK_ROOT/run/cairn-link.lock" true && echo 'not locked' >>"$LOG"
		[ ! -e "$IB/$name" ] || { echo 'made twice' >>"$LOG"; exit 1; }
	}
	[ "$7" != broken0 ] || { echo 'error: No such device' >&2; exit 1; }
	[ "$7" != slow0 ] || { echo "$7" >"$IB/$name"; echo 'error: File exists' >&2; exit 1; }
	echo "$7" >"$IB/$name" ;;
'link delete') rm "$IB/$name" ;;
*) exit 1 ;;
esac
END
cat >"$work/bin/cairn_set" <<'END'
#!/bin/bash
echo "cairn_set $*" >>"$LOG"
[ "$1" != refuses ]
END
# what it prints are files below the directory
cat >"$work/bin/ip" <<'END'
#!/bin/bash
case $* in
'-o link') cat "$CAIRN_LINK_ROOT/link" ;;
'-4 -o route show default') cat "$CAIRN_LINK_ROOT/route4" ;;
'-6 -o route show default') cat "$CAIRN_LINK_ROOT/route6" ;;
'-o monitor link route') . "$CAIRN_LINK_ROOT/monitor" ;;
*) exit 1 ;;
esac
END
cat >"$work/bin/udevadm" <<'END'
#!/bin/bash
[ "$1 $2 $3 $4" = 'info -q property -p' ] && cat "$CAIRN_LINK_ROOT/udev/${5#/sys/class/net/}"
END
chmod +x "$work/bin/"*

shown=("$work/out" "$LOG")

# a machine with these netdevs; the configuration comes from stdin
machine() {
	rm -rf "$CAIRN_LINK_ROOT"
	mkdir -p "$net" "$ib" "${conf%/*}"
	cat >"$conf"
	for dev; do
		mkdir "$net/$dev"
	done
}

# run STATUS ARGUMENT...
run() {
	local want=$1 status=0

	shift
	: >"$LOG"
	"$source/boot/cairn-link" "$@" >"$work/out" 2>&1 || status=$?
	[ $status = "$want" ] || { echo "# status $status, not $want"; return 1; }
}

# the existing links: "NAME:NETDEV ..."
links() {
	local f have=''

	for f in "$ib"/*; do
		[ ! -e "$f" ] || have+=" ${f##*/}:$(cat "$f")"
	done
	[ "$have" = "${*:+ $*}" ] || { echo "# links:$have"; return 1; }
}

said() { grep -qF -e "$1" "$work/out"; }
silent() { [ ! -s "$work/out" ]; }
did() { grep -qxF -e "$1" "$LOG"; }

makes_links() {
	machine eth0 eth1 <<-'END'
	# comment
	  cairn0	eth0   # and one behind

	cairn1 eth1 idle-time=200 loopback=host
	END
	printf 'cairn2 eth2 congestion-control=on profile=connectx3' >>"$conf"	# no newline
	mkdir "$net/eth2"
	run 0 up && silent && links cairn0:eth0 cairn1:eth1 cairn2:eth2 &&
		did 'rdma link add cairn0 type cairn netdev eth0' &&
		did 'cairn_set cairn1 idle-time=200 loopback=host' &&
		did 'cairn_set cairn2 congestion-control=on profile=connectx3' && ! grep -q 'cairn_set cairn0' "$LOG"
}

# as cairn_set shows them, of a new device
takes_what_is_shown() {
	local settings='idle-time=50 loopback=self fabric= capture=yield persistent=declared congestion-control=off profile=none'

	machine eth0 <<<"cairn0 eth0 $settings"
	run 0 check && silent && run 0 up && silent && did "cairn_set cairn0 $settings"
}

again_adds_nothing() {
	run 0 up && silent && ! grep -q 'link add' "$LOG" && did 'cairn_set cairn1 idle-time=200 loopback=host'
}

takes_names() {
	run 0 down cairn1 && links cairn0:eth0 cairn2:eth2 && run 0 down && links &&
		run 0 up cairn2 cairn0 && links cairn0:eth0 cairn2:eth2 &&
		run 1 up cairn9 && said 'no good line of' && said cairn9
}

by_netdev() {
	run 0 down && run 0 up --netdev eth1 && links cairn1:eth1 && run 0 up --netdev eth9 && silent &&
		links cairn1:eth1
}

waits_for_netdev() {
	machine eth0 <<<$'cairn0 eth0\ncairn1 eth7'
	run 0 up && said 'cairn1 waits for eth7' && links cairn0:eth0 &&
		mkdir "$net/eth7" && run 0 up --netdev eth7 && links cairn0:eth0 cairn1:eth7
}

# one bad line of each kind; the good ones hold
bad_lines() {
	local words

	machine eth0 eth1 eth2 eth3 eth4 eth5 eth6 eth7 <<-'END'
	cairn0 eth0
	lonely
	0cairn eth1
	ca/irn eth1
	cairn2 ../eth1
	cairn2 a-name-too-long-for-it
	cairn0 eth1
	cairn3 eth0
	cairn4 eth4 colour=red
	cairn5 eth5 idle-time=1000001
	cairn6 eth3 loopback
	cairn8 eth6 profile=
	cairn9 eth7 profile=../ours
	cairn7 eth2
	END
	run 1 up && links cairn0:eth0 cairn7:eth2 || return 1
	for words in ':2: wants NAME NETDEV' ":3: '0cairn' cannot" ":4: 'ca/irn' cannot" \
		":5: '../eth1' cannot" ":6: 'a-name-too-long-for-it' cannot" \
		':7: there is a cairn0 above' ':8: eth0 has a link above' \
		":9: no such setting: 'colour=red'" ":10: no such setting: 'idle-time=1000001'" \
		":11: no such setting: 'loopback'" \
		":12: no such setting: 'profile='" ":13: no such setting: 'profile=../ours'"; do
		said "$conf$words" || { echo "# lacks: $words"; return 1; }
	done
	[ "$(wc -l <"$work/out")" = 12 ]
}

checks_only() {
	run 1 check && [ "$(wc -l <"$work/out")" = 12 ] && [ ! -s "$LOG" ] &&
		machine <<<'cairn0 eth0 loopback=off' && run 0 check && silent
}

no_words_become_commands() {
	machine eth0 <<-'END'
	* *
	$(touch%x) eth0
	cairn0 `id`
	cairn1 eth0 idle-time=*
	-n eth0
	END
	run 1 up && links && [ "$(wc -l <"$work/out")" = 5 ] && ! grep -q add "$LOG"
}

failure_stops_no_other() {
	machine eth0 broken0 eth1 eth2 <<<$'bad broken0\ngood eth0\nrefuses eth1 loopback=off\nlast eth2'
	run 1 up && links good:eth0 last:eth2 refuses:eth1 &&
		said 'bad: no link on broken0: error: No such device' && said 'refuses: not all settings hold'
}

# as on Ubuntu without linux-modules-extra
names_missing_module() {
	machine broken0 <<<'cairn0 broken0'
	mkdir -p "$CAIRN_LINK_ROOT/sys/module/ib_core"
	run 1 up && said "ib_uverbs is not installed: on Ubuntu it is in linux-modules-extra-$(uname -r)" || return
	mkdir -p "$CAIRN_LINK_ROOT/sys/module/"{ib_uverbs,rdma_ucm} "$CAIRN_LINK_ROOT/lib/modules/$(uname -r)"
	run 1 up && said 'there is no module for the kernel' || return
	echo 'updates/dkms/cairn.ko.xz: kernel/drivers/infiniband/core/ib_uverbs.ko.xz' \
		>"$CAIRN_LINK_ROOT/lib/modules/$(uname -r)/modules.dep"
	run 1 up && ! said 'module for the kernel'
}

# what DKMS says when it has built the module
dkms_names_missing_modules() {
	local modules=$CAIRN_LINK_ROOT/lib/modules/6.8.0-49-generic

	machine <<<''
	mkdir -p "$modules"
	echo 'kernel/drivers/infiniband/core/ib_uverbs.ko.zst:' >"$modules/modules.dep"
	"$source/../debian/needs" 6.8.0-49-generic >"$work/out"
	said 'without rdma_ucm; on Ubuntu: sudo apt install linux-modules-extra-6.8.0-49-generic' || return
	echo 'kernel/drivers/infiniband/core/rdma_ucm.ko' >"$modules/modules.builtin"
	"$source/../debian/needs" 6.8.0-49-generic >"$work/out"
	silent
}

# the headers of another vendor's ib_core, which DKMS builds for
dkms_finds_another_ib_core() {
	local kernel=6.17.0-1008-nvidia-64k modules src=$CAIRN_LINK_ROOT/usr/src/ofa_kernel

	machine <<<''
	modules=$CAIRN_LINK_ROOT/lib/modules/$kernel
	rm -rf "$src"
	mkdir -p "$modules"
	echo 'kernel/drivers/infiniband/core/ib_core.ko.zst:' >"$modules/modules.dep"
	"$source/../debian/ofa" $kernel >"$work/out" 2>&1 && silent || return
	echo 'updates/dkms/ib_core.ko.zst: updates/dkms/mlx_compat.ko' >"$modules/modules.dep"
	! "$source/../debian/ofa" $kernel >"$work/out" 2>&1 || return
	said 'not in /usr/src/ofa_kernel: install mlnx-ofed-kernel-dkms' || return
	mkdir -p "$src/default"
	: >"$src/default/Module.symvers"
	"$source/../debian/ofa" $kernel >"$work/out" 2>&1 || return
	said "CAIRN_OFA=$src/default KBUILD_EXTRA_SYMBOLS=$src/default/Module.symvers" || return
	mkdir -p "$src/$(uname -m)/$kernel"
	: >"$src/$(uname -m)/$kernel/Module.symvers"
	"$source/../debian/ofa" $kernel >"$work/out" 2>&1 || return
	said "CAIRN_OFA=$src/$(uname -m)/$kernel KBUILD"
}

# the same, as a file for make. DKMS goes on after a failure: make must not.
dkms_tells_make_of_it() {
	local kernel=6.17.0-1008-nvidia-64k modules src=$CAIRN_LINK_ROOT/usr/src/ofa_kernel

	machine <<<''
	modules=$CAIRN_LINK_ROOT/lib/modules/$kernel
	rm -rf "$src"
	mkdir -p "$modules"
	echo 'updates/dkms/ib_core.ko.zst:' >"$modules/modules.dep"
	printf 'include ofa.mk\nall:\n\t@echo $(CAIRN_OFA) $(KBUILD_EXTRA_SYMBOLS)\n' >"$work/Makefile"
	"$source/../debian/ofa" $kernel "$work/ofa.mk"
	! make -s -C "$work" >"$work/out" 2>&1 || return
	said 'install mlnx-ofed-kernel-dkms' || return
	mkdir -p "$src/default"
	: >"$src/default/Module.symvers"
	"$source/../debian/ofa" $kernel "$work/ofa.mk"
	make -s -C "$work" >"$work/out" 2>&1 || return
	said "$src/default $src/default/Module.symvers" || return
	echo 'kernel/drivers/infiniband/core/ib_core.ko:' >"$modules/modules.dep"
	"$source/../debian/ofa" $kernel "$work/ofa.mk"
	[ ! -s "$work/ofa.mk" ]
}

# DKMS 3.0 reads its file, prints the variables in double quotes, and reads that
dkms_may_read_its_file_twice() {
	# shellcheck disable=SC2016
	env -i PATH="$PATH" dkms_tree=/var/lib/dkms kernelver=6.1 kernel_source_dir=/usr/src/linux bash -c '
		. "$1"
		once=${MAKE[0]}
		eval "twice=\"$once\""
		[ "$once" = "$twice" ]' - "$source/../debian/cairn-dkms.dkms" >"$work/out" 2>&1 && silent
}

# shown_as NAME REST: the netdev in "ip -o link"
shown_as() { echo "7: $1: <BROADCAST,UP> mtu 1500 qdisc noqueue state UP group default\\    $2" >>"$CAIRN_LINK_ROOT/link"; }

by_mac() {
	machine eth0 eth1 eth1.7 port0 bond0 veth0 tun0 <<-'END'
	cairn0 mac=02:00:00:00:00:0A
	cairn1 mac=02:00:00:00:00:01 loopback=off
	cairn2 mac=02:00:00:00:00:03
	END
	: >"$CAIRN_LINK_ROOT/link"
	shown_as tun0 'link/none '
	shown_as eth0 'link/ether 02:00:00:00:00:0a brd ff:ff:ff:ff:ff:ff'
	# the address of a VLAN is that of the netdev below
	touch "$net/eth1.7/lower_eth1"
	shown_as eth1.7@eth1 'link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff'
	shown_as eth1 'link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff'
	# a port of a bond has an address that is not its own
	touch "$net/bond0/lower_port0"
	shown_as bond0 'link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff'
	shown_as port0 'link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff permaddr 02:00:00:00:00:02'
	run 0 up && links cairn0:eth0 cairn1:eth1 && said 'cairn2 waits for mac=02:00:00:00:00:03' &&
		did 'cairn_set cairn1 loopback=off' && run 0 up && run 0 down && links || return
	shown_as veth0@if9 'link/ether 02:00:00:00:00:03 brd ff:ff:ff:ff:ff:ff link-netnsid 0'
	run 0 up --netdev veth0 && links cairn2:veth0 && run 0 up --netdev eth9 && silent && run 0 down || return
	shown_as eth2 'link/ether 02:00:00:00:00:03 brd ff:ff:ff:ff:ff:ff'
	mkdir "$net/eth2"
	run 1 up cairn2 && links && said 'mac=02:00:00:00:00:03 is that of several netdevs: veth0 eth2'
}

# "ip" shows the addresses of virtual functions with their physical function
by_mac_of_function() {
	local none='brd ff:ff:ff:ff:ff:ff, spoof checking on, link-state auto'

	machine pf0 vf0 pf1 <<-'END'
	cairn0 mac=02:00:00:00:00:0a
	cairn1 mac=02:00:00:00:00:01
	cairn2 mac=02:00:00:00:00:02
	END
	: >"$CAIRN_LINK_ROOT/link"
	shown_as pf0 "link/ether 02:00:00:00:00:0a brd ff:ff:ff:ff:ff:ff\\    vf 0     link/ether 02:00:00:00:00:01 $none\\    vf 1     link/ether 00:00:00:00:00:00 $none"
	shown_as vf0 'link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff'
	shown_as pf1 "link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff permaddr 02:00:00:00:00:02\\    vf 0     link/ether 02:00:00:00:00:0a $none"
	run 0 up && silent && links cairn0:pf0 cairn1:vf0 cairn2:pf1
}

by_path() {
	machine eth0 eth1 dummy0 <<-'END'
	cairn0 path=pci-0000:00:03.0
	cairn1 path=pci-0000:00:14.0-usb-0:2:1.0
	cairn2 path=pci-0000:00:04.0
	END
	mkdir "$CAIRN_LINK_ROOT/udev" "$net/eth0/device" "$net/eth1/device"
	printf 'ID_BUS=pci\nID_PATH=pci-0000:00:03.0\n' >"$CAIRN_LINK_ROOT/udev/eth1"
	echo 'ID_PATH=pci-0000:00:14.0-usb-0:2:1.0' >"$CAIRN_LINK_ROOT/udev/eth0"
	run 0 up && links cairn0:eth1 cairn1:eth0 && said 'cairn2 waits for path=pci-0000:00:04.0' &&
		run 0 down && run 0 up --netdev eth0 && links cairn1:eth0
}

routes() {
	printf '%s' "$1" >"$CAIRN_LINK_ROOT/route4"
	printf '%s' "$2" >"$CAIRN_LINK_ROOT/route6"
}

by_default_route() {
	machine eth0 eth1 eth2 <<<'cairn0 route=default'
	routes '' ''
	run 0 up && links && said 'cairn0 waits for route=default' || return
	routes '' $'unreachable default dev lo metric 1\ndefault via fe80::1 dev eth2 proto ra metric 1024\n'
	run 0 up && links cairn0:eth2 || return
	routes $'default \\\tnexthop via 192.0.2.1 dev eth0 weight 1 \\\tnexthop via 192.0.2.2 dev eth1 weight 1\n' ''
	run 0 up && links cairn0:eth2 && said 'cairn0 stays where it is, not on eth0' &&
		run 0 down && links && run 0 up --netdev eth1 && links && run 0 up --netdev eth0 && links cairn0:eth0
}

# "ip monitor" of this machine makes the events, and checks what they led to.
follows_default_route() {
	machine eth0 eth1 <<<'cairn0 route=default'
	routes $'default via 192.0.2.1 dev eth0\n' ''
	echo 5 >"$net/eth0/ifindex"
	echo 6 >"$net/eth1/ifindex"
	cat >"$CAIRN_LINK_ROOT/monitor" <<-'END'
	until_link() { until [ "$(cat "$IB/cairn0" 2>/dev/null)" = "$1" ]; do sleep 0.02; done; }
	until_link eth0
	# by hand; the route comes again
	rm "$IB/cairn0"
	echo 'default via 192.0.2.1 dev eth0'
	echo '8: eth7: <BROADCAST> mtu 1500 state DOWN group default'
	sleep 0.3
	[ ! -e "$IB/cairn0" ] || echo 'made again' >>"$LOG"
	# by hand, again; then the route moves
	echo eth0 >"$IB/cairn0"
	echo 'default via 192.0.2.9 dev eth1 metric 200' >"$CAIRN_LINK_ROOT/route4"
	echo 'default via 192.0.2.9 dev eth1 metric 200'
	until grep -q 'stays where it is, not on eth1' "$CAIRN_LINK_ROOT/../out"; do sleep 0.02; done
	# a netdev that has nothing to do with it; that of the link, without its routes
	rm "$IB/cairn0"
	echo 'Deleted 8: eth7: <BROADCAST> mtu 1500 state DOWN group default'
	sleep 0.3
	[ ! -e "$IB/cairn0" ] || echo 'made again' >>"$LOG"
	echo 'Deleted 5: eth0: <BROADCAST> mtu 1500 state DOWN group default'
	until_link eth1
	END
	run 1 follow && links cairn0:eth1 && ! did 'made again' && said 'ip monitor ended'
}

bad_choices() {
	local choice

	for choice in mac= mac=02:00:00:00:00 mac=02:00:00:00:00:0g mac=02-00-00-00-00-01 path= route= route=eth0 \
		netdev=eth0 idle-time=200; do
		machine eth0 <<<"cairn0 $choice"
		run 1 up && said "'$choice' cannot be the name of a netdev, mac=ADDRESS" && links || return
	done
}

# its netdev has gone and is there again
old_device_ends() {
	machine eth0 <<<'cairn0 eth0'
	: >"$ib/cairn0"
	(sleep 0.3; rm "$ib/cairn0") &
	run 0 up --netdev eth0 && silent && links cairn0:eth0 || return
	: >"$ib/cairn0"
	run 1 up && said 'cairn0 is there already, but not on eth0'
}

other_netdev() {
	machine eth0 eth1 <<<'cairn0 eth0'
	echo eth1 >"$ib/cairn0"
	run 1 up && said 'cairn0 is there already, but not on eth0' && links cairn0:eth1 &&
		run 0 down && links cairn0:eth1
}

somebody_was_faster() {
	machine slow0 <<<'cairn0 slow0'
	run 0 up && silent && links cairn0:slow0
}

one_at_a_time() {
	local pids='' i

	machine twice0 <<<'cairn0 twice0'
	: >"$LOG"
	: >"$work/out"
	for i in 1 2 3 4; do
		"$source/boot/cairn-link" up --netdev twice0 >>"$work/out" 2>&1 &
		pids+=" $!"
	done
	for i in $pids; do
		wait "$i" || return 1
	done
	silent && links cairn0:twice0 && [ "$(grep -c 'link add' "$LOG")" = 1 ] && ! did 'not locked'
}

no_file() {
	machine eth0 <<<''
	run 0 up && silent && rm "$conf" && run 0 up && silent && run 0 down && silent && links
}

wrong_commands() {
	machine eth0 <<<'cairn0 eth0'
	run 2 && run 2 sideways && run 2 check cairn0 && run 2 follow cairn0 && run 2 up --netdev && run 2 up --all &&
		run 2 down --netdev eth0 && said usage && links
}

echo "KTAP version 1"
for t in makes_links again_adds_nothing takes_names by_netdev waits_for_netdev by_mac by_mac_of_function by_path \
	by_default_route follows_default_route bad_choices old_device_ends bad_lines \
	checks_only takes_what_is_shown no_words_become_commands failure_stops_no_other names_missing_module dkms_names_missing_modules dkms_finds_another_ib_core dkms_tells_make_of_it dkms_may_read_its_file_twice other_netdev \
	somebody_was_faster one_at_a_time no_file wrong_commands; do
	$t
	result $? $t
done
result_end
