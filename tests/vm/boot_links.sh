#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: none
# timeout: 900
# once: 6.12
# boot: own
#
# The links of /etc/cairn.conf: by name, by MAC address, by path, and that of the default
# route. Their netdevs appear, are renamed, go, and come again. Real are udev, with the
# installed rule, and cairn-link; in place of systemd a script starts what the units name.
# userspace/tests/test_link.sh has the errors, scripts/test/deb has systemd.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

conf=/etc/cairn.conf
units=/usr/lib/systemd/system
udevd=/lib/systemd/systemd-udevd
[ -x $udevd ] || skip_all "no udev"
[ -e "$units/cairn-link@.service" ] || bail "the units are not installed"

# --- in place of systemd --------------------------------------------------

# command_of UNIT KEY
command_of() { sed -n "s/^$2=//p" "$units/$1"; }

# udev runs it with the properties of the netdev
cat >"$lib_tmp/wanted" <<END
#!/bin/bash
for unit in \$SYSTEMD_WANTS; do
	name=\${unit#cairn-link@}
	[ "\$name" != "\$unit" ] || continue
	command='$(command_of cairn-link@.service ExecStart)'
	\${command//%i/\${name%.service}} >>$lib_tmp/journal 2>&1
done
END
chmod +x "$lib_tmp/wanted"
mkdir -p /run/udev/rules.d
echo "SUBSYSTEM==\"net\", ENV{SYSTEMD_WANTS}==\"?*\", RUN+=\"$lib_tmp/wanted\"" >/run/udev/rules.d/91-test.rules
: >"$lib_tmp/journal"
$udevd --daemon >/dev/null 2>&1
wait_for 20 udevadm control --ping || bail "no udev"

up() { bash -c "$(command_of cairn-link.service ExecStart)"; }
down() { bash -c "$(command_of cairn-link.service ExecStop)"; }
route_is_wanted() { bash -c "$(command_of cairn-link-route.service ExecCondition)"; }

# --- looking ---------------------------------------------------------------

# is the device there, and on this netdev?
on() { [[ "$(rdma link show "$1/1" 2>/dev/null)" == *" netdev $2 "* ]]; }
gone() { [ ! -e "/sys/class/infiniband/$1" ]; }
index_of() { rdma dev show "$1" 2>/dev/null | sed 's/:.*//'; }

# comes NAME DEVICE NETDEV, goes NAME DEVICE: one point
comes() {
	wait_for 60 on "$2" "$3" && ok "$1" && return
	not_ok "$1"
	diag "$(rdma link show)"
	lib_show "$lib_tmp/journal"
}
goes() { wait_for 60 gone "$2" && ok "$1" || not_ok "$1"; }

# --- at boot ---------------------------------------------------------------

cat >$conf <<'END'
byname name0
bymac mac=02:00:00:00:0B:01
byroute route=default
END
# before the file names it: udev has nothing to do
udevadm settle
ip link add name1 type dummy
udevadm settle
sed -i 's/name0/name1/' $conf
run_ok "at boot" up
expect_that "... the others are waited for" "$(output | grep -c 'which is not there yet') == 2"
comes "the netdev that is there has its link" byname name1
run_ok "again" up
sed -i 's/name1/name0/' $conf
rdma link delete byname
ip link delete name1

# --- by name ---------------------------------------------------------------

ip link add name0 type dummy
comes "a netdev of this name appears" byname name0
ip link set name0 name other0
comes "it is renamed: the link stays" byname other0
ip link delete other0
goes "it goes, and its link with it" byname
ip link add other0 type dummy
udevadm settle
expect_that "one of another name has none" "$(rdma link show | grep -c other0) == 0"
ip link set other0 name name0
comes "it gets the name" byname name0

# the removal of a device begins with that of its netdev, and ends after it
again() {
	local i before

	for i in 1 2 3 4; do
		before=$(index_of byname)
		ip link delete name0 && ip link add name0 type dummy || return 1
		wait_for 15 anew "$before" || { echo "not at $i"; rdma link show; cat "$lib_tmp/journal"; return 1; }
	done
}
anew() { on byname name0 && [ "$(index_of byname)" != "$1" ]; }
RUN_TIMEOUT=120 run_ok "deleted and made again at once, 4 times" again

# --- by MAC address ---------------------------------------------------------

mac=02:00:00:00:0b:01
ip link add mac0 address $mac type dummy
comes "a netdev with this MAC address appears" bymac mac0
ip link set mac0 name mac1
comes "it is renamed: the link stays" bymac mac1
run_ok "... and is the one of the file" up
if modprobe 8021q && ip link add link mac1 name mac1.7 type vlan id 7; then
	udevadm settle
	run_ok "a VLAN on it, with its address, changes nothing" up
	ip link delete mac1.7
fi
ip link delete mac1
goes "it goes" bymac
ip link add mac2 address $mac type dummy
comes "one with this address comes, by another name" bymac mac2

# --- by path ----------------------------------------------------------------

# A card of USB: its other end is a netdev of this machine, too.
plug() { modprobe g_ether host_addr=02:00:00:00:0b:02 dev_addr=02:00:00:00:0b:03; }
unplug() { modprobe -r g_ether; }
# Has udev seen it? Its name, which udev may have given, is left in $card.
plugged() {
	card=$(ip -o link | sed -n 's/^[0-9]*: \([^:@]*\).*02:00:00:00:0b:02 .*/\1/p')
	[ -n "$card" ] && path=$(udevadm info -q property -p "/sys/class/net/$card" | sed -n 's/^ID_PATH=//p') &&
		[ -n "$path" ]
}

# Where VMs share the CPUs, the card takes minutes to appear.
if [ "${CAIRN_TIMEOUT_SCALE:-1}" != 1 ]; then
	skip "a card of USB" "the CPUs are shared"
elif modprobe dummy_hcd && plug && wait_for 60 plugged; then
	diag "$card: $path"
	echo "bypath path=$path" >>$conf
	run_ok "the path is written into the file" up
	comes "the card there has a link" bypath "$card"
	unplug
	goes "it is unplugged" bypath
	plug
	wait_for 60 plugged
	comes "it is plugged in again" bypath "$card"
	ip link set "$card" down
	ip link set "$card" name card0
	comes "it is renamed: the link stays" bypath card0
	unplug
	goes "it is unplugged" bypath
	plug
	wait_for 60 plugged
	comes "it is plugged in, by its first name" bypath "$card"
else
	skip "a card of USB" "none appeared"
fi

unplug

# --- the default route --------------------------------------------------------

# wire NETDEV HOST: with an address
wire() { ip link add "$1" type dummy && ip addr add "10.77.$2.1/24" dev "$1" && ip link set "$1" up; }

run_ok "the file names the default route" route_is_wanted
start - "$lib_tmp/follow" "$(command_of cairn-link-route.service ExecStart)"
follow=$started
wire route0 1
expect_that "without a default route there is no link" "$(rdma link show | grep -c byroute) == 0"
ip route add default via 10.77.1.2
comes "the default route appears" byroute route0
wire route1 2
ip route add default via 10.77.2.2 metric 10
ip route del default via 10.77.1.2
ip route add default via 10.77.1.2 metric 20
wait_for 20 grep -q 'byroute stays' "$lib_tmp/follow" && ok "it moves to another netdev: the link stays" ||
	not_ok "it moves to another netdev: the link stays"
comes "... where it was" byroute route0
ip link delete route0
comes "that netdev goes: the link comes on the other one" byroute route1
ip link delete route1
goes "there is no default route" byroute
wire route1 2
ip route add default via 10.77.2.2
comes "the netdev and the route are made again" byroute route1
stop "$follow"
sed -i 's/^byroute/# &/' $conf
run_fail "without the line the route is not followed" route_is_wanted
sed -i 's/^# byroute/byroute/' $conf

# --- the end -------------------------------------------------------------------

run_ok "all are taken down" down
expect "... none is left" "$(rdma link show)" ""
expect "nothing was refused" "$(cat "$lib_tmp/journal")" ""
for netdev in name0 mac2 route1; do
	ip link delete $netdev
done
