#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 400
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
# append: maxcpus=1 transparent_hugepage=never init_on_alloc=1 slub_debug=FZPU
#
# A host with one CPU that checks its memory and has small pages only.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"
# shellcheck source=tests/vm/host.sh
. "$(dirname "$0")/host.sh"

host_is "one CPU" test "$(nproc)" = 1
host_is "no transparent huge pages" grep -qF '[never]' /sys/kernel/mm/transparent_hugepage/enabled
host_is "memory is zeroed when it is allocated" grep -qw init_on_alloc=1 /proc/cmdline
host_is "slabs are checked and poisoned" grep -q 1 /sys/kernel/slab/kmalloc-256/poison
host_works
