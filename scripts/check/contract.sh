#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Documentation/persistence.rst names the tests of each promise as "FILE: WORDS".
# Each file must exist and have these words. Each label of a promise must have its tests,
# and a row in the table of crashes.
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

# labels_of SECTION: those in the first column of its table
labels_of() {
	awk -v title="$1" '
		index($0, title) == 1 { inside = 1; rules = 0 }
		inside && /^======+  / { rules++; next }
		inside && rules == 2 && /^[0-9]/ {
			column = $0
			sub(/^([0-9]+[a-z],? ?)+/, "&\n", column)
			sub(/\n.*/, "", column)
			while (match(column, /[0-9]+[a-z]/)) {
				print substr(column, RSTART, RLENGTH)
				column = substr(column, RSTART + RLENGTH)
			}
		}
		inside && rules == 3 { exit }' "$page"
}
for label in $(grep -oE '\[[0-9]+[a-z]\]' "$page" | tr -d '[]' | sort -u); do
	for title in 'A crash, promise by promise' 'Tests of the contract'; do
		if ! labels_of "$title" | grep -qx "$label"; then
			echo "persistence.rst: \"$title\" has no $label"
			bad=1
		fi
	done
done
# a page without names would pass
if [ $n -lt 20 ]; then
	echo "persistence.rst names $n tests"
	bad=1
fi
exit $bad
