#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The shell scripts under shellcheck, at the level of warnings. SC2034 (unused
# variable): sourced files set variables for others. The tests in the VM all source
# lib.sh. To follow it takes most of the time, so shellcheck does not, and SC2154 (variable
# that nothing sets) is left to their "set -u".
#
# A child between fork and exec has the traps of its parent: a signal makes it run them. So a
# function that is run at the end of a script looks whether it is in a child.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shell_scripts DIRECTORY...: the names of those in it, each ended by a NUL
shell_scripts() {
	find "$@" -type f | sort | while read -r f; do
		! head -n 3 "$f" | grep -qE '^#!/bin/(ba)?sh|^# shellcheck shell' || printf '%s\0' "$f"
	done
}

shell_scripts scripts tests/vm/lib.sh userspace/boot userspace/tests userspace/tools .ci debian \
	drivers/infiniband/sw/cairn/compat | xargs -0 shellcheck -x -S warning -e SC2034
shell_scripts tests/vm | grep -zv '/lib\.sh$' | xargs -0 shellcheck -S warning -e SC2034,SC2154

shell_scripts scripts tests/vm .ci debian | while IFS= read -r -d '' f; do
	# lib_exit is a function of lib.sh
	sed -n "s/^trap '\{0,1\}\([a-z_]*\)\(; lib_exit'\)\{0,1\} EXIT\$/\1/p" "$f" | while read -r name; do
		sed -n "/^$name() {/,/^}/p" "$f" | grep -q BASHPID ||
			echo "$f: $name() runs in a child that is killed before its exec, too"
	done
done | { ! grep .; }
