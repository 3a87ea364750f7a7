#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 400
# kernels: 6.1 6.12
# boot: soak
# append: maxcpus=1
#
# A host that uses one CPU.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"
# shellcheck source=tests/vm/host.sh
. "$(dirname "$0")/host.sh"

host_is "one CPU" test "$(nproc)" = 1
host_works
