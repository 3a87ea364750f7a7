#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 400
# kernels: 6.1 6.12
# boot: soak
# append: init_on_alloc=1 slub_debug=FZPU
#
# A host that zeroes memory when it is allocated, and poisons free memory.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"
# shellcheck source=tests/vm/host.sh
. "$(dirname "$0")/host.sh"

host_is "memory is zeroed when it is allocated" grep -qw init_on_alloc=1 /proc/cmdline
host_is "slabs are checked and poisoned" grep -q 1 /sys/kernel/slab/kmalloc-256/poison
host_works
