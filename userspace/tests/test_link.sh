#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# cairn-link on a simulated machine: its files below a temporary directory, and fake
# programs "rdma" and "cairn_set".
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
chmod +x "$work/bin/rdma" "$work/bin/cairn_set"

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
	printf 'cairn2 eth2 congestion-control=on' >>"$conf"	# no newline
	mkdir "$net/eth2"
	run 0 up && silent && links cairn0:eth0 cairn1:eth1 cairn2:eth2 &&
		did 'rdma link add cairn0 type cairn netdev eth0' &&
		did 'cairn_set cairn1 idle-time=200 loopback=host' &&
		did 'cairn_set cairn2 congestion-control=on' && ! grep -q 'cairn_set cairn0' "$LOG"
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

	machine eth0 eth1 eth2 eth3 eth4 eth5 <<-'END'
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
	cairn7 eth2
	END
	run 1 up && links cairn0:eth0 cairn7:eth2 || return 1
	for words in ':2: wants NAME NETDEV' ":3: '0cairn' cannot" ":4: 'ca/irn' cannot" \
		":5: '../eth1' cannot" ":6: 'a-name-too-long-for-it' cannot" \
		':7: there is a cairn0 above' ':8: eth0 has a link above' \
		":9: no such setting: 'colour=red'" ":10: no such setting: 'idle-time=1000001'" \
		":11: no such setting: 'loopback'"; do
		said "$conf$words" || { echo "# lacks: $words"; return 1; }
	done
	[ "$(wc -l <"$work/out")" = 10 ]
}

checks_only() {
	run 1 check && [ "$(wc -l <"$work/out")" = 10 ] && [ ! -s "$LOG" ] &&
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
	run 2 && run 2 sideways && run 2 check cairn0 && run 2 up --netdev && run 2 up --all &&
		run 2 down --netdev eth0 && said usage && links
}

echo "KTAP version 1"
for t in makes_links again_adds_nothing takes_names by_netdev waits_for_netdev bad_lines \
	checks_only no_words_become_commands failure_stops_no_other names_missing_module dkms_names_missing_modules other_netdev \
	somebody_was_faster one_at_a_time no_file wrong_commands; do
	$t
	result $? $t
done
result_end
