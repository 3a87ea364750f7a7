#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A libibverbs to link with, of another version than the installed one: it has the
# functions that the objects use, in the version nodes where that version has them, and
# they do nothing.
#
#   link_only.sh NUMBER-OF-THE-PRIVATE-INTERFACE OUTPUT OBJECT...
#
# CC is the compiler. FUNCTIONS=FILE.c has some that do something: programs of tests load
# that library.
set -euo pipefail

pabi=$1 out=$2
shift 2
CC=${CC:-cc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# the installed library knows the nodes of public functions, which stay
nm -D --defined-only "$($CC -print-file-name=libibverbs.so)" |
	sed -n 's/.* \([a-z_0-9]*\)@@\(IBVERBS_[0-9.]*\)$/\1 \2/p' >"$work/public"
nm --undefined-only "$@" | awk '$1 == "U" && $2 ~ /^_?(ibv|verbs)_/ { print $2 }' >"$work/used"
own=()
: >"$work/defined"
if [ -n "${FUNCTIONS:-}" ]; then
	# shellcheck disable=SC2086
	$CC ${CFLAGS:-} -fPIC -c -o "$work/own.o" "$FUNCTIONS"
	nm --defined-only "$work/own.o" | awk '$2 == "T" { print $3 }' >"$work/defined"
	own=("$work/own.o")
fi
sort -u "$work/used" "$work/defined" | awk -v pabi="$pabi" -v public="$work/public" \
	-v defined="$work/defined" -v code="$work/functions.c" -v map="$work/map" '
	BEGIN {
		while ((getline <public) > 0)
			node[$1] = $2
		while ((getline <defined) > 0)
			skip[$1] = 1
	}
	{
		at = $1 in node ? node[$1] : "IBVERBS_PRIVATE_" pabi
		list[at] = list[at] $1 "; "
		if (!($1 in skip))
			print "void " $1 "(void) {}" >code
	}
	END {
		for (at in list)
			print at " { global: " list[at] (at ~ /PRIVATE/ ? "local: *; " : "") "};" >map
	}'
touch "$work/functions.c" "$work/map"
mkdir -p "$(dirname "$out")"
$CC -shared -fPIC -Wno-builtin-declaration-mismatch -Wl,-soname,libibverbs.so.1 \
	-Wl,--version-script,"$work/map" -o "$out" "$work/functions.c" "${own[@]}"
