#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 300
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# scripts/ci/setup-cairn on a host that has module and provider already.
# userspace/tests/test_setup.sh has the installation.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

script=$(cd "$(dirname "$0")/../.." && pwd)/scripts/ci/setup-cairn
setup() { in_a env GITHUB_OUTPUT="$lib_tmp/github" "$script" --no-install "$@"; }
said() { sed -n "s/^$1=//p" "$lib_tmp/github"; }

# --- a device that is there -----------------------------------------------

run_ok "a device that is there" setup --netdev "$IF_A" --name "$DEV_A"
expect "... its name" "$(said device)" "$DEV_A"
expect "... its netdev" "$(said netdev)" "$IF_A"
expect "... its address" "$(said address)" "$IP_A"
expect "... the GID of that address" "$(said gid-index)" "$(gid_index "$DEV_A" "$IP_A")"
expect "the same is printed" "$(output | grep '=')" "$(cat "$lib_tmp/github")"

# --- without a default route ----------------------------------------------

rm "$lib_tmp/github"
run_ok "without a default route" setup --name cairn_ci
expect "a dummy is made" "$(said netdev) $(said address)" "cairn-dummy 10.231.0.1"
expect "... with a link" "$(cat /sys/class/infiniband/cairn_ci/parent)" cairn-dummy
index=$(said gid-index)
start a "$lib_tmp/server" "ibv_rc_pingpong -d cairn_ci -g $index -n 10"
server=$started
# it prints its address, and then listens
listens() { in_a cat /proc/net/tcp /proc/net/tcp6 | grep -q ' 0A '; }
wait_for 30 listens
run_ok "ping-pong by that GID" in_a ibv_rc_pingpong -d cairn_ci -g "$index" -n 10 10.231.0.1
stop "$server"
start a "$lib_tmp/server" "rping -s -a 10.231.0.1 -C 3"
wait_for 30 cm_listens
run_ok "rping with itself" in_a rping -c -a 10.231.0.1 -C 3
run_ok "once more" setup --netdev dummy --name cairn_ci

# --- what it refuses ------------------------------------------------------

run_fail "a device on another netdev" setup --netdev dummy --name "$DEV_A"
expect "... is refused" "$(output | grep -c "there is a device $DEV_A already")" 1
run_fail "a netdev that is not there" setup --netdev nothing0 --name cairn_x
expect "... is refused" "$(output | grep -c 'there is no netdev nothing0')" 1
expect "... with what the doctor finds" "$(output | grep -cE '^(ok|warn|fail) +firewall')" 1
run_fail "a netdev that has a link" setup --netdev "$IF_A" --name cairn_x
expect "... is refused" "$(output | grep -c "no link on $IF_A")" 1

# --- the end --------------------------------------------------------------

rdma link delete cairn_ci
in_a ip link delete cairn-dummy
