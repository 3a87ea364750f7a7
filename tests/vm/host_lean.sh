#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 400
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
# append: ipv6.disable=1 cgroup_disable=memory
#
# A host without IPv6 and without the memory controller.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"
# shellcheck source=tests/vm/host.sh
. "$(dirname "$0")/host.sh"

host_is "no IPv6" test ! -e /proc/sys/net/ipv6
no_memcg() { ! grep -qw memory /sys/fs/cgroup/cgroup.controllers; }
host_is "no memory controller" no_memcg
host_works
