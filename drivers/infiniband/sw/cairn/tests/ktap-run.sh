#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Run test programs that print KTAP and print one KTAP document of all of them.
# A program passes when it exits with 0, keeps its plan and has no "not ok".
#
#   ktap-run.sh [name=]command...
set -u

limit=${CAIRN_TEST_TIMEOUT:-900}	# seconds for one program
failed=0
n=0

# Judge what a program printed: prints "ok", "skip <reason>" or "not <reason>"
judge() {
	awk '
	/^1\.\.[0-9]+/ { plan = substr($1, 4) + 0; planned = 1 }
	/^not ok / { bad++; done++ }
	/^ok / { done++ }
	/^ok .*# SKIP/ { skipped++; why = $0; sub(/.*# SKIP */, "", why) }
	END {
		if (!planned) print "not no plan"
		else if (bad) print "not " bad " of " plan " failed"
		else if (done != plan) print "not planned " plan ", ran " done + 0
		else if (skipped && skipped == plan) print "skip " why
		else print "ok"
	}'
}

echo "KTAP version 1"
echo "1..$#"
for arg in "$@"; do
	n=$((n + 1))
	began=$SECONDS
	cmd=${arg#*=}
	name=${arg%%=*}
	[ "$cmd" != "$name" ] || name=${cmd##*/}
	out=$(timeout "$limit" bash -c "exec $cmd" 2>&1)
	status=$?
	printf '%s\n' "$out" | sed 's/^/  /'
	verdict=$(judge <<<"$out")
	point="$n $name # $((SECONDS - began)) s"
	case "$status:$verdict" in
	0:ok) echo "ok $point" ;;
	0:skip*) echo "ok $n $name # SKIP ${verdict#skip }" ;;
	0:*) echo "# $name: ${verdict#not }"; echo "not ok $point"; failed=1 ;;
	124:*) echo "# $name: took longer than $limit s"; echo "not ok $point"; failed=1 ;;
	*) echo "# $name: exit status $status; $verdict"; echo "not ok $point"; failed=1 ;;
	esac
done
exit $failed
