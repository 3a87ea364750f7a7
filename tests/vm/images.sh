#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 420
# kernels: 6.1 6.12
# once: 6.12
# boot: soak
#
# Containers of other releases of Debian, without any package of cairn. Their libibverbs takes
# its provider from the directory of "make providers", by each way that
# Documentation/containers.rst names. scripts/test/images makes the root file systems.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=scripts/vm/kernels.sh
. "$top/scripts/vm/kernels.sh"
providers=${CAIRN_BUILD:-$top/build}/providers
[ -z "$(kernel_root "$KVER")" ] || skip_all "no root file systems for another architecture"
mapfile -t images < <(find "$(cairn_cache)/root" -maxdepth 1 -name 'image-*-*' ! -name '*.*' 2>/dev/null | sort)
[ ${#images[@]} != 0 ] || skip_all "no root file systems: scripts/test/images makes them"
[ -d "$providers" ] || skip_all "no directory of make providers: scripts/test/images makes it"
command -v crun >/dev/null || bail "no crun"

majors="[$((0x$(stat -c %t /dev/infiniband/rdma_cm))), $((0x$(stat -c %t /dev/infiniband/uverbs0)))]"

# bundle END COMMAND...: a container of $image in the network namespace a or b
bundle() {
	local dir=$lib_tmp/bundle.$1

	mkdir -p "$dir"
	jq -n --arg pod "$1" --arg root "$image" --arg providers "$providers" --argjson majors "$majors" \
		--argjson env "$env" --argjson mounts "$mounts" '{
		ociVersion: "1.0.0",
		process: {
			args: $ARGS.positional, cwd: "/", user: {uid: 0, gid: 0},
			env: (["PATH=/usr/sbin:/usr/bin:/sbin:/bin"] + $env),
			rlimits: [{type: "RLIMIT_MEMLOCK", hard: 67108864, soft: 67108864}]
		},
		root: {path: $root, readonly: true},
		mounts: ([
			{destination: "/proc", type: "proc", source: "proc"},
			{destination: "/sys", type: "sysfs", source: "sysfs", options: ["ro", "nosuid"]},
			{destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["mode=755"]},
			{destination: "/dev/infiniband", type: "bind", source: "/dev/infiniband",
			 options: ["bind"]},
			{destination: "/opt/cairn/lib", type: "bind", source: $providers,
			 options: ["bind", "ro"]}
		] + $mounts),
		linux: {
			namespaces: [{type: "network", path: "/run/netns/\($pod)"}, {type: "mount"},
				     {type: "pid"}, {type: "ipc"}, {type: "uts"}],
			cgroupsPath: "/cairn-\($pod)",
			resources: {devices: ([{allow: false, access: "rwm"}] +
				($majors | map({allow: true, type: "c", major: ., access: "rw"})))}
		}
	}' --args -- "${@:2}" >"$dir/config.json"
}

# container END COMMAND...
container() {
	bundle "$@" &&
		crun --cgroup-manager=cgroupfs run -b "$lib_tmp/bundle.$1" "$1"
}
export -f bundle container

# between NAME: rping from a container in a to one in b, of the same image
between() {
	start - "$lib_tmp/server" "container b rping -s -a $IP_B -C 5"
	if ! wait_for 60 cm_listens; then
		not_ok "$1"
		stop "$started"
		lib_show "$lib_tmp/server"
		return
	fi
	run_ok "$1" container a rping -c -v -a "$IP_B" -C 5
	lib_wait 30 "$started" || stop "$started"
}

# the version of rdma-core: the name of the library's file has it
version_of() {
	basename "$1"/usr/lib/*/libibverbs.so.1.*.*.* | cut -d. -f5
}

known() {
	awk -v v="$1" '!/^#/ && $1 <= v && v <= $2 { found = 1 } END { exit !found }' "$top/userspace/abi/versions"
}

# An unknown version is refused, or finds no file of its name.
refused() {
	run_ok "$1: a container with a libibverbs that is not known" container a ibv_devices
	expect_that "... which says so" "$(output | grep -c libcairn) > 0"
}

try_image() {
	local name=$1 version=$2

	env='[]' mounts='[]'
	run_ok "$name: a container without a provider" container a ibv_devices
	expect "... sees no device of cairn" "$(output | grep -c "^ *$DEV_A")" 0
	env='["IBV_DRIVERS=/opt/cairn/lib/libcairn"]'
	if ! known "$version"; then
		refused "$name, rdma-core $version"
		return
	fi
	between "$name, rdma-core $version: rping, by IBV_DRIVERS"
	env='[]' mounts=$(jq -nc --arg source "$providers/cairn.driver" '[{
		destination: "/etc/libibverbs.d/cairn.driver", type: "bind", source: $source,
		options: ["bind", "ro"]}]')
	between "$name, rdma-core $version: rping, by a file in /etc/libibverbs.d"
}

export env mounts image majors lib_tmp providers
for image in "${images[@]}"; do
	name=${image##*/image-}
	try_image "${name%-*}" "$(version_of "$image")"
done
