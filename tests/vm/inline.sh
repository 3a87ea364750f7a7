#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 120
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# Short messages inside the work request: which messages the threshold includes.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

points inline
CAIRN_INLINE_THRESHOLD=0 points inline sizes
CAIRN_INLINE_THRESHOLD=256 points inline sizes
