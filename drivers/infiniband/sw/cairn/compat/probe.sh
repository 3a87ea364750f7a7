#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Finds out which features of probe.c the kernel has. Kbuild calls it:
#
#	probe.sh PROBE.C FOUND.H COMPILER [FLAG]...
#
# FOUND.H is written only when it changes.
set -eu

probe=$1 found=$2
shift 2
mkdir -p "$(dirname "$found")"
trap 'rm -f "$found.tmp" "$found.log"' EXIT

# these warnings are errors in newer kernels
LC_ALL=C "$@" -Wno-error -Werror=implicit-function-declaration \
	-Werror=incompatible-pointer-types -Werror=int-conversion \
	-fsyntax-only "$probe" 2>"$found.log" || :

# no error at all would mean that the kernel has every feature
if ! grep -q '^CAIRN_HAS_NOTHING:.*error:' "$found.log" ||
	grep -v '^CAIRN_HAS_' "$found.log" | grep -qE ':.*(fatal )?error:'; then
	cat "$found.log" >&2
	echo "probe.sh: the kernel's headers do not compile" >&2
	exit 1
fi
{
	echo '/* Made by probe.sh. */'
	sed -n 's/^# 1 "\(CAIRN_HAS_.*\)"$/\1/p' "$probe" | while read -r name; do
		grep -q "^$name:.*error:" "$found.log" || echo "#define $name 1"
	done
} >"$found.tmp"
cmp -s "$found.tmp" "$found" || mv "$found.tmp" "$found"
