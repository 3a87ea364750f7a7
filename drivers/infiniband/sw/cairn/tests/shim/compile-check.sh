#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Compile sources with another compiler or word size; prints KTAP, one test
# for each source, and skips all when the compiler cannot build a program.
#
#   compile-check.sh 'compiler and flags' source...
set -u

cc=$1
shift
echo "KTAP version 1"
if ! echo '#include <stdio.h>
int main(void) { return puts(""); }' | $cc -x c -o /dev/null - 2>/dev/null; then
	echo "1..1"
	echo "ok 1 compile # SKIP ${cc%% -std*} builds nothing here"
	exit 0
fi

n=0
failed=0
echo "1..$#"
for src in "$@"; do
	n=$((n + 1))
	if out=$($cc -fsyntax-only "$src" 2>&1); then
		echo "ok $n ${src##*/cairn/}"
	else
		printf '%s\n' "$out" | sed 's/^/# /'
		echo "not ok $n ${src##*/cairn/}"
		failed=1
	fi
done
exit $failed
