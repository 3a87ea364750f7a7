#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Runs test programs that print KTAP and prints one document of all of them. A
# program passes when it exits with 0, has no "not ok" and keeps its plan.
#
#   run.sh NAME=COMMAND...
set -u

limit=${CAIRN_TEST_TIMEOUT:-900}	# seconds for one program
failed=0
n=0

kept_plan() {
	awk '/^1\.\./ { plan = substr($1, 4) }
	     /^(not )?ok / { ran++ }
	     /^not ok / { bad++ }
	     END { exit !(plan && plan == ran && !bad) }'
}

echo "KTAP version 1"
for arg in "$@"; do
	n=$((n + 1))
	began=$SECONDS
	out=$(timeout "$limit" bash -c "exec ${arg#*=}" 2>&1)
	status=$?
	sed 's/^/  /' <<<"$out"
	if [ $status = 0 ] && kept_plan <<<"$out"; then
		echo "ok $n ${arg%%=*} # $((SECONDS - began)) s"
	else
		echo "# exit status $status"
		echo "not ok $n ${arg%%=*} # $((SECONDS - began)) s"
		failed=1
	fi
done
echo "1..$n"
exit $failed
