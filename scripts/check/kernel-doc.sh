#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Do the kernel-doc comments match the code? kbuild could check those of the .c files
# (W=1), with one more process for each of them.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=scripts/vm/kernels.sh
. "$top/scripts/vm/kernels.sh"
cd "$top"
common=$(dirname "$(readlink -f "/lib/modules/$(kernel_release 6.12)/source/Makefile")")
find drivers include -name '*.[ch]' -not -path '*/tests/*' -print0 | sort -z |
	xargs -0 -r "$common/scripts/kernel-doc" -none -Werror
