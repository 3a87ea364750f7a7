#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Documentation/persistence.rst names the tests of each promise as "FILE: WORDS".
# Each file must be there and have these words.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
page=$top/Documentation/persistence.rst

bad=0 n=0
while IFS= read -r name; do
	n=$((n + 1))
	file=${name%%: *} words=${name#*: }
	path=$(find "$top/drivers/infiniband/sw/cairn/tests" "$top/tests/vm" \
		"$top/userspace/tests" "$top/scripts/test" -name "$file" -type f)
	if [ -z "$path" ]; then
		echo "persistence.rst: there is no $file"
		bad=1
	elif ! grep -qF -- "$words" "$path"; then
		echo "persistence.rst: $file has no \"$words\""
		bad=1
	fi
done < <(sed -n '/^Tests of the contract/,$s/``/\n/gp' "$page" |
	grep -E '^[a-z_-]+(\.c|\.sh)?: ')
# a page without names would pass
if [ $n -lt 20 ]; then
	echo "persistence.rst names $n tests"
	bad=1
fi
exit $bad
