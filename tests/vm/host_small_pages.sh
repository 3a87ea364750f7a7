#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 400
# kernels: 6.1 6.12
# boot: soak
# append: transparent_hugepage=never
#
# A host without transparent huge pages.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"
# shellcheck source=tests/vm/host.sh
. "$(dirname "$0")/host.sh"

host_is "no transparent huge pages" grep -qF '[never]' /sys/kernel/mm/transparent_hugepage/enabled
host_works
