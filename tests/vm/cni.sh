#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: none
# timeout: 900
# kernels: 6.1 6.12
# once: 6.12
# boot: reload
#
# cairn-cni behind Debian's plugins bridge and host-local: two pods with a device each. The
# functions call the plugins as a container runtime does. userspace/tests/test_cni.sh has the
# errors that need no kernel.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

top=$(cd "$(dirname "$0")/../.." && pwd)
list=$top/userspace/cni/10-cairn.conflist
[ -x /usr/lib/cni/bridge ] || skip_all "no containernetworking-plugins"

# --- a container runtime --------------------------------------------------

# input N [RESULT]: the configuration for plugin N of the list
input() {
	jq -c --argjson n "$1" --argjson prev "${2:-null}" '.plugins[$n] + {cniVersion, name} +
		if $prev then {prevResult: $prev} else {} end' "$list"
}

# plugin TYPE COMMAND POD: its configuration comes on stdin
plugin() {
	env CNI_COMMAND="$2" CNI_CONTAINERID="$3" CNI_NETNS="${NETNS-/run/netns/$3}" CNI_IFNAME=eth0 \
		CNI_PATH=/usr/lib/cni "/usr/lib/cni/$1"
}

# add POD: all plugins in order; the result is kept
add() {
	local result

	result=$(input 0 | plugin bridge ADD "$1") || { echo "$result"; return 1; }
	result=$(input 1 "$result" | plugin cairn-cni ADD "$1") || { echo "$result"; return 1; }
	echo "$result" | tee "$lib_tmp/$1"
}

check() {
	input 0 "$(<"$lib_tmp/$1")" | plugin bridge CHECK "$1" && ours CHECK "$1"
}

del() {
	ours DEL "$1" && input 0 "$(<"$lib_tmp/$1")" | plugin bridge DEL "$1"
}

# ours COMMAND POD: this plugin alone, with the result of ADD
ours() { input 1 "$(<"$lib_tmp/$2")" | plugin cairn-cni "$1" "$2"; }

# refused NAME CODE WORDS COMMAND...: an error of the plugin
refused() {
	local name=$1 code=$2 say=$3

	shift 3
	run_fail "$name" "$@"
	expect "... with the code and what to do" \
		"$(output | jq -r --arg say "$say" '"\(.code) \(.msg | contains($say))"')" "$code true"
}

in_pod() { ip netns exec "$@"; }
# the device of a pod, and its IPv4 address
device_of() { in_pod "$1" rdma link show | sed -n 's,^link \([^/]*\)/.* netdev eth0 *$,\1,p'; }
address_of() { jq -r '.ips[0].address | split("/")[0]' "$lib_tmp/$1"; }
devices() {
	local dir n=0

	for dir in /sys/class/infiniband/*; do
		[ ! -e "$dir" ] || n=$((n + 1))
	done
	echo "$n"
}
have_devices() { [ "$(devices)" = "$1" ]; }
is_active() { in_pod "$1" rdma link show | grep -q 'state ACTIVE.* netdev eth0'; }
no_pods() { [ -z "$(ip netns list)" ]; }

pods_begin() {
	ip netns add pod1 && ip netns add pod2 && ip -n pod1 link set lo up && ip -n pod2 link set lo up
}

# between NAME RUN SERVER CLIENT: a server in pod1 and a client in pod2; RUN POD COMMAND runs it
between() {
	start - "$lib_tmp/server" "$2 pod1 $3"
	if ! wait_for 60 listens pod1; then
		not_ok "$1"
		lib_show "$lib_tmp/server"
		return
	fi
	run_ok "$1" bash -c "$2 pod2 $4"
	lib_wait 30 "$started" || stop "$started"
}

listens() {
	in_pod "$1" rdma resource show cm_id | grep -q LISTEN || in_pod "$1" cat /proc/net/tcp | grep -q ' 0A '
}

rping_between() {
	between "$1" "${2:-ip netns exec}" "rping -s -a $(address_of pod1) -C 5" \
		"rping -c -v -a $(address_of pod1) -C 5"
}

# --- shared namespaces ----------------------------------------------------

status() { echo '{"cniVersion":"1.1.0","name":"cairn"}' | plugin cairn-cni STATUS none; }
run_ok "STATUS" status
pods_begin || bail "no namespaces"
run_ok "ADD of a pod" add pod1
expect "... gives the result of the plugin before" "$(jq -c '[.cniVersion, .interfaces[2].name]' "$lib_tmp/pod1")" \
	'["1.0.0","eth0"]'
run_ok "... and of another one" add pod2
one=$(device_of pod1) two=$(device_of pod2)
expect_that "each has a device of its own" "${#one} > 0 && ${#two} > 0"
expect_that "... whose names UCX takes" "${#one} < 30 && ${#two} < 30"
wait_for 20 is_active pod1 && wait_for 20 is_active pod2 || not_ok "the devices are active"
rping_between "rping between the pods"
between "ib_write_bw between the pods" "ip netns exec" "ib_write_bw -R -d $one -n 50 -s 4096" \
	"ib_write_bw -R -d $two -n 50 -s 4096 $(address_of pod1)"
run_ok "ADD once more" ours ADD pod1
expect "... makes no other device" "$(devices) $(device_of pod1)" "2 $one"
run_ok "CHECK" check pod1
rdma link delete "$one"
refused "CHECK of a pod without its device" 103 'start the pod again' ours CHECK pod1
run_ok "ADD makes it again" ours ADD pod1
run_ok "CHECK" check pod1
wait_for 20 is_active pod1 || not_ok "the device is active"

# --- a fabric -------------------------------------------------------------

# with_fabric POD [VARIABLE=VALUE]...
with_fabric() {
	input 1 "$(<"$lib_tmp/$1")" | jq -c '.fabric = "pods"' |
		env CNI_COMMAND=ADD CNI_CONTAINERID="$1" CNI_NETNS="/run/netns/$1" CNI_IFNAME=eth0 \
			"${@:2}" /usr/lib/cni/cairn-cni
}
run_ok "ADD with a fabric" with_fabric pod1
run_ok "... of the other pod" with_fabric pod2
expect "... puts the devices into it" "$(cairn_set "$one" | grep fabric) $(cairn_set "$two" | grep fabric)" \
	"fabric=pods fabric=pods"
rping_between "rping between the pods"
expect_that "... by the fabric" "$(counter "$one" fabric_packets) > 0"
refused "a fabric on a node without cairn_set" 7 'install cairn-tools' with_fabric pod1 PATH=/nowhere
expect "... leaves no device" "$(devices) $(device_of pod1)" "1 "
run_ok "ADD without a fabric makes it again" ours ADD pod1
expect "... in none" "$(cairn_set "$one" | grep fabric)" fabric=
wait_for 20 is_active pod1 || not_ok "the device is active"

# --- containers -----------------------------------------------------------

# A runtime gives the namespace, /dev/infiniband, permission for its majors, locked memory.
# bundle POD MAJORS COMMAND...
bundle() {
	local dir=$lib_tmp/bundle.$1

	mkdir -p "$dir"
	jq -n --arg pod "$1" --argjson majors "$2" '{
		ociVersion: "1.0.0",
		process: {
			args: $ARGS.positional, cwd: "/", user: {uid: 0, gid: 0},
			env: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
			rlimits: [{type: "RLIMIT_MEMLOCK", hard: 67108864, soft: 67108864}]
		},
		root: {path: "/mnt/image", readonly: true},
		mounts: [
			{destination: "/proc", type: "proc", source: "proc"},
			{destination: "/sys", type: "sysfs", source: "sysfs", options: ["ro", "nosuid"]},
			{destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["mode=755"]},
			{destination: "/dev/infiniband", type: "bind", source: "/dev/infiniband",
			 options: ["bind"]}
		],
		linux: {
			namespaces: [{type: "network", path: "/run/netns/\($pod)"}, {type: "mount"},
				     {type: "pid"}, {type: "ipc"}, {type: "uts"}],
			cgroupsPath: "/cairn-\($pod)",
			resources: {devices: ([{allow: false, access: "rwm"}] +
				($majors | map({allow: true, type: "c", major: ., access: "rw"})))}
		}
	}' --args -- "${@:3}" >"$dir/config.json"
}

# container POD COMMAND...
container() {
	bundle "$1" "$majors" "${@:2}" && crun --cgroup-manager=cgroupfs run -b "$lib_tmp/bundle.$1" "$1"
}
export -f bundle container
export lib_tmp majors

if command -v crun >/dev/null; then
	mkdir -p /mnt/image
	mount --bind / /mnt/image
	majors="[$((0x$(stat -c %t /dev/infiniband/rdma_cm))), $((0x$(stat -c %t /dev/infiniband/uverbs0)))]"
	rping_between "rping between two containers" container
	majors=[]
	run_fail "a container without the majors" container pod1 ibv_devinfo -d "$one"
	expect "... cannot open its device" "$(output | grep -c 'Failed to open device')" 1
	umount /mnt/image
else
	skip "containers" "no crun"
fi

# --- what is refused ------------------------------------------------------

printf '{' >"$lib_tmp/bad"
bad_json() { plugin cairn-cni ADD pod1 <"$lib_tmp/bad"; }
refused "bad JSON" 6 'ends too early' bad_json
without_interface() { input 1 '{}' | NETNS=/run/netns/bare plugin cairn-cni ADD bare; }
ip netns add bare
refused "a pod without an interface" 7 'the pod has no interface eth0' without_interface
ip -n bare link add eth1 type dummy
ip -n bare link add link eth1 eth0 type vlan id 7
refused "an interface that cannot have a device" 102 'must be no VLAN' without_interface
ip -n bare link delete eth0
ip -n bare link set eth1 name eth0
ip netns exec bare rdma link add other type cairn netdev eth0
refused "an interface that has one" 102 'has an RDMA device already' without_interface
rdma link delete other
without_rights() {
	input 1 '{}' | env CNI_COMMAND=ADD CNI_CONTAINERID=bare CNI_NETNS="$1" CNI_IFNAME=eth0 \
		setpriv --bounding-set=-all /usr/lib/cni/cairn-cni
}
refused "a process without rights" 101 'as root of the node' without_rights /run/netns/bare
ip netns delete bare

# --- DEL, GC --------------------------------------------------------------

run_ok "DEL" del pod1
expect "... takes the device of this pod only" "$(devices) $(device_of pod2)" "1 $two"
run_ok "DEL again" ours DEL pod1
NETNS='' run_ok "DEL without a namespace" ours DEL pod2
expect "... takes the device, where namespaces are shared" "$(devices)" 0
run_ok "ADD again" ours ADD pod2

# garbage COMMAND NETWORK [POD]: a device of another network, and a list of valid pods
garbage() {
	jq -nc --arg name "$2" '{cniVersion: "1.1.0", name: $name, prevResult: {},
		"cni.dev/valid-attachments": ($ARGS.positional | map({containerID: ., ifname: "eth0"}))}' \
		--args "${@:3}" | plugin cairn-cni "$1" pod1
}
ip -n pod1 link add eth0 type dummy
run_ok "ADD in another network" garbage ADD other
run_ok "GC with a pod that is valid" garbage GC cairn pod2
expect "... takes nothing" "$(devices)" 2
run_ok "GC with no pod that is valid" garbage GC cairn pod1
expect "... takes the device of this network only" "$(devices) $(device_of pod2)" "1 "
run_ok "ADD again" ours ADD pod2

# the namespaces go first
ip netns delete pod1
ip netns delete pod2
wait_for 30 have_devices 0 || not_ok "the devices end with their namespaces"
run_ok "DEL after the namespace is gone" ours DEL pod2
run_ok "... by all plugins" del pod2
touch "/run/netns/pod2"
run_ok "DEL with an ordinary file for a namespace" ours DEL pod2
rm "/run/netns/pod2"

# --- exclusive namespaces -------------------------------------------------

exclusive() { no_pods && rdma system set netns exclusive; }
visible() { in_pod "$1" ibv_devices | grep -c '^ *cairn'; }
if wait_for 20 exclusive; then
	pods_begin
	run_ok "exclusive: ADD" add pod1
	run_ok "... of another pod" add pod2
	expect "... each sees its own device only" "$(devices) $(visible pod1) $(visible pod2)" "0 1 1"
	wait_for 20 is_active pod1 && wait_for 20 is_active pod2 || not_ok "the devices are active"
	rping_between "exclusive: rping between the pods"
	run_ok "exclusive: CHECK" check pod1
	run_ok "exclusive: DEL" del pod1
	expect "... takes the device" "$(visible pod1)" 0
	run_ok "exclusive: DEL again" ours DEL pod1
	ip netns delete pod2
	run_ok "exclusive: DEL after the namespace is gone" del pod2
	ip netns delete pod1
	shared() { rdma system set netns shared; }
	wait_for 20 shared || not_ok "back to shared"
else
	skip "exclusive namespaces" "namespaces are left"
fi
expect "no device is left" "$(devices)" 0
expect "... and no address" "$(find /var/lib/cni/networks/cairn -name '10.*' | wc -l)" 0
ip link delete cni-cairn0

# --- without the module ---------------------------------------------------

ip netns add pod1
ip -n pod1 link add eth0 type dummy
# references of namespaces go late
unload() { rmmod cairn; }
wait_for 20 unload || not_ok "the module unloads"
modules=/lib/modules/$(uname -r)
mkdir "$lib_tmp/empty"
mount --bind "$lib_tmp/empty" "$modules/updates"
refused "a module that does not load" 100 'modprobe cairn' ours ADD pod1
mount --bind "$lib_tmp/empty" "$modules"
refused "no module" 100 'install cairn-dkms' ours ADD pod1
refused "STATUS without the module" 50 'install cairn-dkms' status
run_ok "DEL without the module" ours DEL pod1
umount "$modules"
umount "$modules/updates"
run_ok "ADD loads the module" ours ADD pod1
run_ok "DEL" ours DEL pod1
ip netns delete pod1

# --- a node of a cluster --------------------------------------------------

node=$lib_tmp/node
node_install() { "$top/scripts/ci/kubernetes/install" --bin "$node/bin" --conf "$node/net.d" "$@"; }
types() { jq -r '.plugins | map(.type) | join(" ")' "$node/net.d/05-kindnet.conflist"; }
mkdir -p "$node/net.d"
run_fail "a node without a network" node_install
expect "... gets the plugin" "$(test -x "$node/bin/cairn-cni" && echo yes)" yes
echo '{"cniVersion":"0.3.1","name":"kindnet","plugins":[{"type":"ptp"},{"type":"portmap"}]}' \
	>"$node/net.d/05-kindnet.conflist"
chmod 600 "$node/net.d/05-kindnet.conflist"
run_ok "a node with one" node_install
expect "... whose list others still cannot read" "$(stat -c %a "$node/net.d/05-kindnet.conflist")" 600
run_ok "... twice" node_install
expect "... has the plugin once, at the end" "$(types)" "ptp portmap cairn-cni"
run_ok "... and without it" node_install --remove
expect "... as before" "$(types) $(find "$node" -type f | wc -l)" "ptp portmap 1"
