#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 300
# kernels: 6.1 6.12
# boot: shared
#
# Rate limits of queue pairs.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

points rate
