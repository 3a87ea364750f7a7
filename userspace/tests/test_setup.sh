#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# scripts/ci/setup-cairn on a made-up machine: a /sys of its own in a mount namespace, and
# programs that only do as if. tests/vm/setup_ci.sh runs it on a live host.
#
#   test_setup.sh HELPER-DIR
set -u

[ -n "${CAIRN_UNSHARED:-}" ] || {
	export CAIRN_UNSHARED=1
	[ "$(id -u)" = 0 ] || exec unshare -rm "$0" "$@"
	exec unshare -m "$0" "$@"
}
script=$(cd "$(dirname "$0")/../.." && pwd)/scripts/ci/setup-cairn
# without "..", as the script prints it
work=$(mktemp -d "$(realpath "$1")/setup.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
export LC_ALL=C WORK=$work GITHUB_OUTPUT=$work/github PATH=$work/bin:$PATH
# shellcheck source=userspace/tests/result.sh
. "${0%/*}/result.sh"
mkdir "$work/bin" "$work/debs"
touch "$work/debs/cairn.deb"
mount -t tmpfs tmpfs /sys || exit 1

shown=("$work/out" "$work/calls")

# program NAME: its text comes from standard input
program() {
	{
		echo '#!/bin/bash'
		# shellcheck disable=SC2016
		echo 'echo "${0##*/} $*" >>"$WORK/calls"'
		cat
	} >"$work/bin/$1"
	chmod +x "$work/bin/$1"
}

program ip <<'END'
case "$*" in
*'route show default') cat "$WORK/route" ;;
'-o -4 address show dev tun0 '*) echo '3: tun0    inet 10.1.0.4 peer 10.1.0.5/32 scope global tun0' ;;
'link add '*) mkdir -p "/sys/class/net/$3" ;;
'-o -4 address show dev eth0 '*) echo '2: eth0    inet 10.1.0.4/16 brd 10.1.255.255 scope global eth0' ;;
'-o -4 address show dev cairn-dummy '*) echo '5: cairn-dummy    inet 10.231.0.1/24 scope global cairn-dummy' ;;
esac
END
# index 1 is of RoCE v1
program rdma <<'END'
[ "$1 $2" = 'link add' ] || exit 0
[ ! -e "$WORK/broken" ] || exit 1
dev=/sys/class/infiniband/$3/ports/1
case $7 in
eth0 | tun0) gid=0a01:0004 ;;
*) gid=0ae7:0001 ;;
esac
mkdir -p "$dev/gids" "$dev/gid_attrs/types"
echo "$7" >"/sys/class/infiniband/$3/parent"
echo fe80:0000:0000:0000:0000:0000:0000:0001 >"$dev/gids/0"
echo "0000:0000:0000:0000:0000:ffff:$gid" | tee "$dev/gids/1" >"$dev/gids/2"
echo 'IB/RoCE v1' >"$dev/gid_attrs/types/1"
echo 'RoCE v2' | tee "$dev/gid_attrs/types/0" >"$dev/gid_attrs/types/2"
END
program uname <<<'echo 6.8.0-49-generic'
# shellcheck disable=SC2016
program modinfo <<<'[ -e "$WORK/modules" ]'
program modprobe <<<''
program apt-get <<<''
# its words are those of the language, and only those of C are known
# shellcheck disable=SC2016
program apt-cache <<<'[ "$LC_ALL" = C ] && echo "  Candidate: 6.8" || echo "  Installationskandidat: 6.8"'
program cairn_doctor <<<'echo "fail  firewall: made up"'

# a machine with one netdev, which has the default route
machine() {
	rm -rf /sys/class "$work/github" "$work/broken" "$work/modules"
	mkdir -p /sys/class/net/eth0 /sys/class/infiniband
	echo 'default via 10.1.0.1 dev eth0 proto dhcp' >"$work/route"
}

# run STATUS ARGUMENT...
run() {
	local want=$1 status=0

	shift
	: >"$work/calls"
	"$script" "$@" >"$work/out" 2>&1 || status=$?
	[ $status = "$want" ]
}

# says DEVICE INDEX ADDRESS NETDEV: in both ways
says() {
	local want

	want=$(printf 'device=%s\ngid-index=%s\naddress=%s\nnetdev=%s' "$@")
	[ "$(cat "$work/github")" = "$want" ] && grep -qxF -e "address=$3" "$work/out"
}

default_route() {
	machine
	run 0 --no-install && says cairn0 2 10.1.0.4 eth0 && ! grep -q ^apt "$work/calls"
}

point_to_point() {
	machine
	mkdir /sys/class/net/tun0
	run 0 --no-install --netdev tun0 && says cairn0 2 10.1.0.4 tun0
}

again() {
	rm "$work/github"
	run 0 --no-install && says cairn0 2 10.1.0.4 eth0 && ! grep -q 'link add' "$work/calls"
}

no_default_route() {
	machine
	: >"$work/route"
	run 0 --no-install --name ci && says ci 2 10.231.0.1 cairn-dummy
}

dummy() {
	machine
	run 0 --no-install --netdev dummy && says cairn0 2 10.231.0.1 cairn-dummy
}

other_netdev() {
	machine
	run 0 --no-install && run 1 --no-install --netdev dummy &&
		grep -q 'there is a device cairn0 already' "$work/out"
}

no_netdev() {
	machine
	run 1 --no-install --netdev eth9 && grep -q 'there is no netdev eth9' "$work/out"
}

failure_is_explained() {
	machine
	touch "$work/broken"
	run 1 --no-install && grep -q 'no link on eth0' "$work/out" && grep -q 'firewall: made up' "$work/out"
}

# the package with ib_uverbs, too
installs() {
	machine
	run 0 --debs "$work/debs" && says cairn0 2 10.1.0.4 eth0 && grep '^apt-get .* install' "$work/calls" |
		grep 'linux-headers-6.8.0-49-generic linux-modules-extra-6.8.0-49-generic' | grep -q "$work/debs/cairn.deb"
}

no_packages() {
	machine
	run 1 --debs "$work/none" && grep -q "there are no packages in $work/none" "$work/out" &&
		! grep -q ^apt-get "$work/calls"
}

# no headers, no network: what the program said, then a sentence and the findings
install_fails() {
	machine
	program apt-get <<<'case "$*" in *" install "*) echo "E: no network"; exit 100 ;; esac'
	run 1 --debs "$work/debs" && grep -q 'E: no network' "$work/out" &&
		grep -q 'cannot be installed for the kernel 6.8.0-49-generic' "$work/out" &&
		grep -q 'firewall: made up' "$work/out"
	local status=$?
	program apt-get <<<''
	return $status
}

# nor is the module built without headers
build_fails() {
	machine
	run 1 && grep -q 'cannot be installed for the kernel 6.8.0-49-generic' "$work/out" &&
		grep -q 'firewall: made up' "$work/out" && ! grep -q '^rdma link' "$work/calls"
}

in_another_language() {
	LC_ALL=C.UTF-8 installs
}

# with the modules there, each program counts
installs_programs() {
	machine
	touch "$work/modules"
	program cairn_set <<<''
	program rping <<<''
	run 0 --debs "$work/debs" && ! grep -q '^apt-get .* install' "$work/calls" || return 1
	rm "$work/bin/cairn_set"
	run 0 --debs "$work/debs" || return 1
	# the system may have one
	command -v cairn_set >/dev/null || grep -q '^apt-get .* install' "$work/calls"
}

# for a kernel that does not run, and without a link
installs_for_an_image() {
	machine
	run 0 --debs "$work/debs" --install-for 6.17.0-8-generic && [ ! -e "$work/github" ] &&
		grep -q '^apt-get .* install .*linux-headers-6.17.0-8-generic' "$work/calls" &&
		! grep -qE '^rdma|^modprobe' "$work/calls"
}

# run_of FILE KEY...: the commands of a job are left in $work/job; KEY leads to them
run_of() {
	/usr/bin/python3 - "$@" >"$work/job" <<-'END'
		import sys, yaml
		found = yaml.safe_load(open(sys.argv[1]))
		for key in sys.argv[2:]:
		    found = found[int(key) if key.isdigit() else key]
		print(found if isinstance(found, str) else '\n'.join(found))
	END
}

# what a runner does with action.yml: inputs in the environment, outputs from a file
github() {
	machine
	run_of "${script%/*}/github/action.yml" runs steps 0 run || return
	: >"$work/calls"
	CAIRN_NETDEV=$1 CAIRN_NAME=$2 CAIRN_DEBS=${3:-} GITHUB_ACTION_PATH=${script%/*}/github \
		bash -e -o pipefail "$work/job" >"$work/out" 2>&1
}

github_action() {
	github default rdma7 "$work/debs" && says rdma7 2 10.1.0.4 eth0 &&
		grep '^apt-get .* install' "$work/calls" | grep -q "$work/debs/cairn.deb" &&
		github_outputs && ! github eth9 rdma8
}

# each output of the action is a line of the script
github_outputs() {
	/usr/bin/python3 - "${script%/*}/github/action.yml" "$work/github" <<-'END'
		import sys, yaml
		action = yaml.safe_load(open(sys.argv[1]))
		lines = [line.split('=')[0] for line in open(sys.argv[2])]
		for name, output in action['outputs'].items():
		    assert output['value'] == '${{ steps.setup.outputs.%s }}' % name, name
		assert sorted(lines) == sorted(action['outputs']), lines
	END
}

gitlab_job() {
	machine
	touch "$work/modules"
	program cairn_set <<<''
	program rping <<<''
	program git <<<'mkdir -p cairn/scripts/ci && ln -s "$SCRIPT" cairn/scripts/ci/setup-cairn'
	run_of "${script%/*}/gitlab.yml" rdma-test script || return
	mkdir "$work/checkout"
	: >"$work/calls"
	(cd "$work/checkout" && SCRIPT=$script CAIRN_REPOSITORY=/nowhere bash -e -o pipefail "$work/job") \
		>"$work/out" 2>&1 && grep -q '^rping -c -a 10.1.0.4' "$work/calls" &&
		grep -q '^rping -s -a 10.1.0.4' "$work/calls"
}

usage() {
	run 2 --nothing && run 2 --name && run 2 --no-install --install-for 6.8 &&
		grep -q 'setup-cairn \[--netdev' "$work/out"
}

echo "KTAP version 1"
for t in default_route again point_to_point no_default_route dummy other_netdev no_netdev failure_is_explained \
	installs no_packages install_fails build_fails in_another_language installs_programs installs_for_an_image github_action gitlab_job usage; do
	$t
	result $? $t
done
result_end
