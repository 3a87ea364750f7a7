#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# cairn_doctor on made-up machines: a healthy one, and for each diagnosis one on which that
# thing is broken. A copy of the script runs. It notes which of its reports were made, for at
# the end each must have been, and a complaint must have named a command.
#
#   test_doctor.sh HELPER-DIR
#
# The commands that break a thing are evaluated later.
# shellcheck disable=SC2016,SC2317
set -u

source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "$1/doctor.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=userspace/tests/result.sh
. "${0%/*}/result.sh"
export LC_ALL=C root=$work/machine/root CAIRN_DOCTOR_ROOT=$work/machine/root PATH=$work/machine/bin:$PATH
unset IBV_DRIVERS RDMAV_DRIVERS CAIRN_PROFILE
kernel=6.8.0-49-generic

shown=("$work/out")
noting=$work/doctor
export CAIRN_DOCTOR_SEEN=$work/seen
install -m 666 /dev/null "$CAIRN_DOCTOR_SEEN"
awk '{ sub(/report (ok|warn|fail) /, "report_line " NR " &"); print }
	/^set / { print "report_line() { echo \"$1 $3 ${6:+mends}\" >>\"$CAIRN_DOCTOR_SEEN\"; shift; \"$@\"; }" }' \
	"$source/tools/cairn_doctor" >"$noting"
chmod 755 "$noting"

# script NAME LINE...: a program; one that is there keeps its mode
script() {
	local path=$work/machine/bin/$1

	[ -e "$path" ] || install -m 755 /dev/null "$path"
	printf '%s\n' '#!/bin/sh' "${@:2}" >"$path"
}

# program NAME [TEXT]: it prints the text
program() {
	local text=${2:-} quote="'\\''"

	script "$1" "printf '%s\n' '${text//"'"/"$quote"}'"
}

# fails NAME: it prints nothing and fails
fails() {
	script "$1" 'exit 1'
}

file() {
	local path=$root/$1

	[ -d "${path%/*}" ] || mkdir -p "${path%/*}"
	printf '%s\n' "${@:2}" >"$path"
}

# a machine on which nothing is wrong
make_healthy() {
	local port=sys/class/infiniband/cairn0/ports/1 lib=usr/lib/x86_64-linux-gnu

	mkdir -p "$root"/sys/module/{ib_core,ib_uverbs,rdma_ucm,cairn} "$work/machine/bin"
	file "lib/modules/$kernel/modules.dep" \
		'kernel/drivers/infiniband/core/ib_core.ko.zst:' \
		'kernel/drivers/infiniband/core/ib_uverbs.ko.zst: kernel/drivers/infiniband/core/ib_core.ko.zst' \
		'kernel/drivers/infiniband/core/rdma_ucm.ko.zst: kernel/drivers/infiniband/core/ib_uverbs.ko.zst' \
		'updates/dkms/cairn.ko.zst: kernel/drivers/infiniband/core/ib_uverbs.ko.zst'
	mkdir -p "$root/lib/modules/$kernel/build"
	file etc/os-release 'ID=ubuntu' 'ID_LIKE=debian'
	file etc/libibverbs.d/cairn.driver 'driver cairn'
	file "$lib/libibverbs.so.1.14.50.0" 'the name is -rdmav34.so'
	ln -s libibverbs.so.1.14.50.0 "$root/$lib/libibverbs.so.1"
	file "$lib/libibverbs/libcairn-rdmav34.so"
	file sys/class/infiniband_verbs/uverbs0/ibdev cairn0
	file dev/infiniband/uverbs0
	file dev/infiniband/rdma_cm
	file "$port/state" '4: ACTIVE'
	file "$port/hw_counters/rx_malformed" 0
	file sys/class/infiniband/cairn0/fw_ver 1.0.0
	file "$port/gids/0" fe80:0000:0000:0000:0001:0002:0003:0004
	file "$port/gids/1" 0000:0000:0000:0000:0000:ffff:0a4d:0001
	file sys/class/infiniband/cairn0/parent eth0
	file sys/class/net/eth0/mtu 1500
	file sys/class/net/eth0/carrier 1
	file proc/self/status 'CapEff:	0000000000004000'
	file proc/self/cgroup 0::/a/b
	file sys/fs/cgroup/a/b/rdma.max
	program uname $kernel
	program rdma 'netns shared copy-on-fork on'
	program ibv_devices
	program nft
	program iptables '-P INPUT ACCEPT'
	program ip6tables '-P INPUT ACCEPT'
	program dmesg
	program dkms
	program rping
	program cairn_fault
	program ping
	# shellcheck disable=SC2016	# the program expands it
	script ip 'case $* in' \
		'*"route show default") echo "default via 10.77.0.254 dev eth0 proto dhcp" ;;' \
		'*"route get "*) cat "$root/route" ;;' \
		'neigh*) cat "$root/neighbour" ;;' \
		'*"address show to "*) cat "$root/address" ;;' \
		'esac'
	file route '10.77.0.2 dev eth0 src 10.77.0.1 uid 0'
	file neighbour '10.77.0.2 lladdr 02:00:00:00:00:02 REACHABLE'
	mv "$work/machine" "$work/healthy"
}

# the machine is a healthy one
healthy() {
	rm -rf "${work:?}/machine"
	cp -r --preserve=mode "$work/healthy" "$work/machine"
}

# doctor [ARG...]: its lines are in $lines, and in $work/out for result()
doctor() {
	local rc

	"$noting" "$@" >"$work/out" 2>&1
	rc=$?
	mapfile -t lines <"$work/out"
	return $rc
}

# a file system that is full
output_fails() {
	local option

	doctor || return
	for option in '' -j; do
		# shellcheck disable=SC2086
		"$noting" $option >/dev/full 2>"$work/out"
		[ $? = 1 ] || return 1
	done
}

# says PATTERN [NEXT]: a line begins like this, and the next one has these words
says() {
	local i

	for i in "${!lines[@]}"; do
		# shellcheck disable=SC2053	# a pattern
		[[ ${lines[i]} == $1* ]] && [[ -z ${2:-} || ${lines[i + 1]:-} == *"$2"* ]] && return
	done
	return 1
}

# complaints: returns the number of findings that are not "ok"
complaints() {
	local line count=0

	for line in "${lines[@]}"; do
		[[ $line != @(fail|warn)'  '* ]] || count=$((count + 1))
	done
	return $count
}

# finds LEVEL ID MEND [ARG...]: one finding of that level, this one, with this command
finds() {
	local rc=0

	doctor "${@:4}" || rc=$?
	case $1 in
	fail) [ $rc = 1 ] || return ;;
	*) [ $rc = 0 ] || return ;;
	esac
	complaints
	[ $? = 1 ] && says "$1  $2: " "$3"
}

# well [ARG...]: no finding
well() {
	doctor "$@" && complaints
}

# broken NAME LEVEL ID MEND COMMAND [ARG...]: after the command, which breaks it
broken() {
	local name=$1 level=$2 id=$3 mend=$4

	healthy
	eval "$5"
	shift 5
	finds "$level" "$id" "$mend" "$@"
	result $? "$name"
}

unload() {
	rmdir "$root/sys/module/$1"
}

forget() {
	sed -i "/\/$1\.ko[^:]*:/d" "$root/lib/modules/$kernel/modules.dep"
}

# it runs Debian's kernel for clouds
cloud() {
	file etc/os-release ID=debian
	mv "$root/lib/modules/$kernel" "$root/lib/modules/6.1.0-56-cloud-amd64"
	program uname 6.1.0-56-cloud-amd64
}

# every_report: prints those that were not made
every_report() {
	local line text missing=0

	while IFS=: read -r line text; do
		grep -q "^$line " "$CAIRN_DOCTOR_SEEN" && continue
		echo "line $line:$text"
		missing=1
	done < <(grep -nE 'report (ok|warn|fail) ' "$source/tools/cairn_doctor")
	return $missing
}

# shellcheck disable=SC2034	# evaluated, too
dev=sys/class/infiniband/cairn0
lib=usr/lib/x86_64-linux-gnu
echo "KTAP version 1"
make_healthy
healthy
well && [ "${lines[-1]}" = 'nothing is in the way of RDMA here' ]
result $? healthy
doctor 10.77.0.2 && says 'ok    peer-rping'
result $? healthy_with_peer

broken not_loaded fail module-cairn 'sudo modprobe cairn' 'unload cairn'
broken modules_extra fail module-ib_uverbs "sudo apt install linux-modules-extra-$kernel" \
	'unload ib_uverbs; forget ib_uverbs'
broken modules_extra_ucm fail module-rdma_ucm "sudo apt install linux-modules-extra-$kernel" \
	'unload rdma_ucm; forget rdma_ucm'
broken modules_extra_fedora fail module-ib_uverbs "sudo dnf install kernel-modules-$kernel" \
	'unload ib_uverbs; forget ib_uverbs; file etc/os-release ID=fedora'
broken no_rdma_kernel fail module-ib_core 'CONFIG_INFINIBAND' \
	'unload ib_core; forget ib_core; file etc/os-release ID=other'
broken cloud_kernel fail module-ib_core 'sudo apt install linux-image-amd64 && sudo reboot' \
	'unload ib_core; forget ib_core; cloud'
broken no_package fail module-cairn 'sudo apt install cairn-dkms' 'unload cairn; forget cairn'
broken no_headers fail module-cairn "linux-headers-$kernel" \
	'unload cairn; forget cairn; rmdir "$root/lib/modules/$kernel/build"'
broken dkms_failed fail module-cairn 'make.log' 'unload cairn; forget cairn; program dkms "cairn/1.0: added"'
broken container_without_module fail module-cairn 'on the host: sudo modprobe cairn' \
	'unload cairn; file run/.containerenv'
doca() {
	healthy
	forget ib_core
	echo 'updates/dkms/ib_core.ko:' >>"$root/lib/modules/$kernel/modules.dep"
}
doca
doctor && says 'ok    ib-core-owner: *cairn was built for it'
result $? ib_core_of_doca_served
unload cairn
! doctor && says 'fail  ib-core-owner: ' mlnx-ofed-kernel-dkms
result $? ib_core_of_doca
mkdir -p "$root/usr/src/ofa_kernel"
! doctor && says 'fail  ib-core-owner: ' 'sudo dpkg-reconfigure cairn-dkms'
result $? ib_core_of_doca_headers
secure_boot='sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c'
healthy
file $secure_boot
printf '\6\0\0\0\1' >"$root/$secure_boot"
well && says 'ok    secure-boot: '
result $? secure_boot_accepted
unload cairn
! doctor && says 'fail  secure-boot: ' 'mokutil --import'
result $? secure_boot
broken no_libibverbs fail library 'sudo apt install libibverbs1' 'rm -r "$root/$lib"'
broken no_provider fail provider 'sudo apt install libcairn1' 'rm "$root/$lib/libibverbs/libcairn-rdmav34.so"'
broken another_interface fail provider-interface '"make providers"' \
	'mv "$root/$lib/libibverbs/libcairn-rdmav"{34,59}.so'
broken unlisted fail provider-unlisted 'sudo tee /etc/libibverbs.d/cairn.driver' \
	'rm "$root/etc/libibverbs.d/cairn.driver"'
broken unnamed fail provider-unnamed 'export IBV_DRIVERS=/opt/cairn/lib/libcairn' \
	'rm "$root/$lib/libibverbs/libcairn-rdmav34.so"; file opt/cairn/lib/libcairn-rdmav34.so'
IBV_DRIVERS=/opt/cairn/lib/libcairn doctor && says 'ok    provider: */opt/cairn'
result $? named
healthy
rm "$root/$lib/libibverbs/libcairn-rdmav34.so"
file opt/cairn/lib/libcairn-rdmav34.so
file etc/libibverbs.d/cairn.driver 'driver /opt/cairn/lib/libcairn'
well && says 'ok    provider: */opt/cairn/lib/libcairn-rdmav34.so, which '
result $? named_by_a_file
broken refused fail provider-refused 'libcairn1 of this release' \
	'script ibv_devices "echo libcairn: x is of rdma-core 62 >&2"'
broken no_nodes fail nodes '--device /dev/infiniband' 'rm -r "$root/dev/infiniband"'
broken no_rdma_cm warn node-rdma-cm 'sudo modprobe rdma_ucm' 'rm "$root/dev/infiniband/rdma_cm"'
broken node_refused fail node-refused '--device /dev/infiniband' \
	'rm "$root/dev/infiniband/uverbs0"; mkdir "$root/dev/infiniband/uverbs0"'
if [ "$(id -u)" = 0 ]; then
	# root may open anything
	healthy
	chmod 711 "$1" "$work" 2>/dev/null
	chmod 600 "$root/dev/infiniband/uverbs0"
	chmod 666 "$root/dev/infiniband/rdma_cm"
	setpriv --reuid=65534 --clear-groups "$noting" >"$work/out" 2>&1
	grep -A1 '^fail  node-permission: ' "$work/out" | grep -q 'sudo chmod 666 /dev/infiniband/uverbs0'
	result $? node_permission
else
	broken node_permission fail node-permission 'sudo chmod 666 /dev/infiniband/uverbs0' \
		'chmod 000 "$root/dev/infiniband/uverbs0"'
fi
broken no_device fail device 'sudo rdma link add cairn0 type cairn netdev eth0' 'rm -r "$root/$dev"'
broken named_device fail device 'sudo rdma link add cairn7 type cairn netdev eth0' 'rm -r "$root/$dev"' -d cairn7
# as another network namespace than the initial one sees it
healthy
rm -r "$root/$dev/ports/1/hw_counters"
well -d cairn0 && says 'ok    port: cairn0 '
result $? without_counters
broken rxe fail device 'sudo rdma link add cairn0 type cairn netdev eth0' \
	'rm "$root/$dev/ports/1/hw_counters/rx_malformed"; file $dev/ports/1/hw_counters/sent_pkts 0'
broken rxe_without_counters fail device 'sudo rdma link add cairn0 type cairn netdev eth0' \
	'rm -r "$root/$dev/ports/1/hw_counters"; file $dev/fw_ver ""'
broken another_device fail device 'sudo rdma link add cairn7' : -d cairn7
broken other_namespace fail netdev 'ip netns exec' 'rm -r "$root/sys/class/net/eth0"'
# a node with a pod
healthy
cp -r "$root/$dev" "$root/${dev%0}1"
file "${dev%0}1/parent" eth9
well && says 'ok    netdev: cairn1 lies on eth9'
result $? other_namespace_beside
broken port_down fail port 'sudo ip link set eth0 up' 'file $dev/ports/1/state "1: DOWN"'
broken no_carrier fail port 'connect the cable' \
	'file $dev/ports/1/state "1: DOWN"; file sys/class/net/eth0/carrier 0'
broken no_gid fail gids 'sudo ip address add ADDRESS/PREFIX dev eth0' 'rm "$root/$dev/ports/1/gids/"*'
broken link_local warn gids 'sudo ip address add ADDRESS/PREFIX dev eth0' 'rm "$root/$dev/ports/1/gids/1"'
broken mtu_too_small fail mtu 'sudo ip link set eth0 mtu 1500' 'file sys/class/net/eth0/mtu 300'
broken mtu_small warn mtu 'sudo ip link set eth0 mtu 1500' 'file sys/class/net/eth0/mtu 700'
healthy
file proc/self/status 'CapEff:	0000000000000000'
(ulimit -l 64; "$noting") >"$work/out" 2>&1
grep -A1 '^warn  memlock: only 64 KiB' "$work/out" | grep -q 'ulimit -l unlimited'
result $? memlock
file proc/self/status 'CapEff:	0000000000004000'
(ulimit -l 64; "$noting") >"$work/out" 2>&1 && ! grep -q warn "$work/out"
result $? memlock_with_capability
broken cgroup fail cgroup 'echo cairn0 hca_object=max | sudo tee /sys/fs/cgroup/a/b/rdma.max' \
	'file sys/fs/cgroup/a/b/rdma.max "cairn0 hca_handle=2 hca_object=5";
	 file sys/fs/cgroup/a/b/rdma.current "cairn0 hca_handle=1 hca_object=5"'
broken cgroup_above fail cgroup '/sys/fs/cgroup/a/rdma.max' \
	'file sys/fs/cgroup/a/rdma.max "cairn0 hca_handle=0 hca_object=max"'
# the file of a device's profile has the device's inode as its name
broken profile warn profile 'sudo cairn_set cairn0 profile none' \
	'file run/cairn/profile/"$(stat -c %i "$root/sys/class/infiniband/cairn0")" "# profile small"'
broken faults warn faults 'sudo cairn_fault cairn0 clear' \
	'program cairn_fault "sent:act=drop,chance=0.1 hits=7"'
broken profile_environment warn profile-environment 'unset CAIRN_PROFILE' 'export CAIRN_PROFILE=small'
unset CAIRN_PROFILE
policy='table inet filter {
	chain input {
		type filter hook input priority filter; policy drop;
		tcp dport 22 accept
	}
}'
broken nft_policy fail firewall 'sudo nft insert rule inet filter input udp dport 4791 accept' \
	'program nft "$policy"'
broken nft_rule fail firewall 'sudo nft insert rule inet filter input udp dport 4791 accept' \
	'program nft "$(sed "s/policy drop/policy accept/; s/tcp.*/udp dport 4791 drop/" <<<"$policy")"'
healthy
program nft "${policy/tcp dport 22/udp dport 4791}"
doctor && says 'ok    firewall'
result $? nft_accepts
# ufw: the rule of the user is in a chain of its own, behind a drop of what is not for us
ufw='table ip filter {
	chain ufw-not-local {
		fib daddr type local counter packets 4791 bytes 1 return
		fib daddr type broadcast counter packets 0 bytes 0 return
		counter packets 0 bytes 0 drop
	}
	chain ufw-before-input {
		iifname "lo" counter packets 0 bytes 0 accept
		counter packets 5 bytes 300 jump ufw-not-local
		counter packets 5 bytes 300 jump ufw-user-input
	}
	chain ufw-user-input {
		tcp dport 22 counter packets 0 bytes 0 accept
	}
	chain ufw-user-output {
		udp dport 4791 counter packets 0 bytes 0 accept
	}
	chain INPUT {
		type filter hook input priority filter; policy drop;
		counter packets 5 bytes 300 jump ufw-before-input
	}
}'
broken nft_ufw fail firewall 'sudo ufw allow 4791/udp' 'program nft "$ufw"'
healthy
program nft "${ufw/tcp dport 22/udp dport 4791}"
doctor && says 'ok    firewall'
result $? nft_ufw_accepts
firewalld='table inet firewalld {
	chain filter_INPUT {
		type filter hook input priority filter + 10; policy accept;
		ct state { established, related } accept
		iifname "lo" accept
		ct state invalid drop
		jump filter_INPUT_ZONES
		reject with icmpx admin-prohibited
	}
	chain filter_INPUT_ZONES {
		iifname "eth0" goto filter_IN_public
		goto filter_IN_public
	}
	chain filter_IN_public {
		jump filter_IN_public_allow
		meta l4proto { icmp, ipv6-icmp } accept
		reject with icmpx admin-prohibited
	}
	chain filter_IN_public_allow {
		tcp dport 22 accept
	}
}'
broken nft_firewalld fail firewall 'sudo firewall-cmd --add-port=4791/udp' 'program nft "$firewalld"'
healthy
program nft "${firewalld/tcp dport 22/udp dport 4791}"
doctor && says 'ok    firewall'
result $? nft_firewalld_accepts
iptables_ufw='-P INPUT DROP
-N ufw-user-input
-A INPUT -j ufw-not-local
-A INPUT -j ufw-user-input
-A ufw-not-local -m addrtype --dst-type LOCAL -j RETURN
-A ufw-not-local -j DROP
-A ufw-user-input -p tcp -m tcp --dport 4791 -j ACCEPT'
broken iptables_ufw fail firewall 'sudo ufw allow 4791/udp' 'fails nft; program iptables "$iptables_ufw"'
healthy
fails nft
program iptables "${iptables_ufw//tcp/udp}"
doctor && says 'ok    firewall'
result $? iptables_ufw_accepts
broken iptables_reject fail firewall 'sudo iptables -I INPUT' \
	'fails nft; program iptables "-P INPUT ACCEPT
-A INPUT -i lo -j ACCEPT
-A INPUT -m comment --comment \"all else\" -j REJECT --reject-with icmp-host-prohibited"'
broken iptables_policy fail firewall 'sudo iptables -I INPUT -p udp --dport 4791 -j ACCEPT' \
	'fails nft; program iptables "-P INPUT DROP"'
broken iptables_rule fail firewall 'sudo ip6tables -I INPUT' \
	'program ip6tables "-A INPUT -p udp -m udp --dport 4791 -j REJECT"'
broken firewall_unknown warn firewall 'sudo cairn_doctor' 'fails nft; fails iptables; fails ip6tables'
broken selinux fail denied audit2allow \
	'program dmesg "audit: avc:  denied  { read } for path=/dev/infiniband/uverbs0"'
broken apparmor fail denied 'sudo aa-complain snap.x' \
	"program dmesg 'apparmor=\"DENIED\" profile=\"snap.x\" name=\"/dev/infiniband/uverbs0\"'"
healthy
program rdma 'netns exclusive copy-on-fork on'
doctor && says 'ok    netns-mode: *exclusive'
result $? netns_exclusive

broken peer_route fail peer-route 'sudo ip route add 10.77.0.2' \
	'file route "RTNETLINK answers: Network is unreachable"' 10.77.0.2
broken peer_elsewhere fail peer-route 'sudo rdma link add cairn1 type cairn netdev eth9' \
	'file route "10.77.0.2 dev eth9 src 10.9.0.1"' 10.77.0.2
broken peer_neighbour fail peer-neighbour 'ip neigh show dev eth0' \
	'file neighbour "10.77.0.2 FAILED"' 10.77.0.2
broken peer_mtu fail peer-mtu 'sudo ip link set eth0 mtu 608' \
	'script ping "case \$* in *1092*) exit 1;; esac"' 10.77.0.2
healthy
file route 'local 10.77.0.1 dev lo src 10.77.0.1 uid 0'
file address '2: eth0    inet 10.77.0.1/24 brd 10.77.0.255 scope global eth0'
file neighbour
fails ping
well 10.77.0.1 && says 'ok    peer-route: * by eth0, device cairn0' && says 'ok    peer-rping'
result $? peer_is_here
# a packet of IPv6 has 20 bytes more of headers
healthy
script ping 'case $* in *"-s "*) case $* in *" 304 "* | *" 560 "* | *" 1072 "*) ;; *) exit 1 ;; esac ;; esac'
doctor fd00::2 && says 'ok    peer-mtu: * path MTU 1024 reach'
result $? peer_mtu_ipv6
broken peer_silent warn peer-ping 'allow ICMP' 'fails ping' 10.77.0.2
broken peer_rping fail peer-rping 'on the peer: rping -s' 'fails rping' 10.77.0.2
# the machine has few other programs than the made-up ones
healthy
rm "$work/machine/bin/rping"
mkdir "$work/few"
for name in awk cat grep head id readlink sed sh timeout tr; do
	ln -s "$(type -P $name)" "$work/few/$name"
done
PATH=$work/machine/bin:$work/few finds warn peer-rping 'sudo apt install rdmacm-utils' 10.77.0.2
result $? no_rping
healthy
rm "$work/machine/bin/ping"
file neighbour
PATH=$work/machine/bin:$work/few finds warn peer-ping 'sudo apt install iputils-ping' 10.77.0.2 &&
	says 'ok    peer-rping'
result $? no_ping

healthy
unload cairn
doctor -j
python3 - "$work/out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
bad = [f for f in d['findings'] if f['level'] == 'fail']
assert d['failed'] and [f['id'] for f in bad] == ['module-cairn'], d
assert bad[0]['mend'] == 'sudo modprobe cairn'
END
result $? json
# the name of a container's device may have any bytes
healthy
cp -r "$root/sys/class/infiniband/cairn0" "$root/sys/class/infiniband/"$'x\e[2J"\xff'
doctor && ! grep -q $'[^\t -~]' "$work/out" && says 'ok    port: x?\[2J"? on eth0'
result $? any_name
doctor -j
python3 -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))' "$work/out" 2>"$work/err"
result $? json_with_any_name
healthy
output_fails; result $? output_fails
! doctor -x && [ ${#lines[@]} = 1 ]; result $? usage
# a name would be taken for an address without a route, with a mend that is none
no_address() {
	local peer status

	for peer in host2 'a b' '10.1.0.2,' fe80::1%eth0 beef; do
		status=0
		doctor "$peer" || status=$?
		[ $status = 2 ] && says "cairn_doctor: $peer: want an IPv4 or IPv6 address" || return 1
	done
}
no_address; result $? no_address
every_report >"$work/out"; result $? every_report
! grep -vE ' ok |mends$' "$CAIRN_DOCTOR_SEEN" >"$work/out"; result $? each_complaint_names_a_command
result_end
