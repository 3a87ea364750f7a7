#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 120
# kernels: 6.1 6.12
# boot: shared
#
# Verbs with wrong attributes, and methods of the driver with wrong input: each is refused
# with an errno and changes nothing.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

points bad_input
points methods
