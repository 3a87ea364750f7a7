#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The shell scripts under shellcheck, at the level of warnings. SC2034 (unused
# variable): sourced files set variables for others.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
find scripts tests/vm userspace/boot userspace/tests userspace/tools .ci debian \
	drivers/infiniband/sw/cairn/compat -type f | sort | while read -r f; do
	! head -n 3 "$f" | grep -qE '^#!/bin/(ba)?sh|^# shellcheck shell' || printf '%s\0' "$f"
done | xargs -0 shellcheck -x -S warning -e SC2034
