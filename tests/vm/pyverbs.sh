#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 720
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# Debian's pyverbs suite on one device. The tests in pyverbs-must-pass.txt must
# run and pass; of the others, none may fail (they are skipped for what the
# device does not offer).

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

list=$(dirname "$0")/pyverbs-must-pass.txt
# shellcheck disable=SC2154
suite=$lib_tmp/tests
[ -d /usr/share/doc/rdma-core/tests ] || skip_all "the suite is not installed"
cp -r /usr/share/doc/rdma-core/tests "$suite" && gunzip -f "$suite"/*.gz || bail "no suite"
# those of other makers' devices would all be skipped, one second each
rm "$suite"/test_{mlx5,efa,cuda}*
# it looks for the netdev under the device's parent, which a veth has not
mkdir -p "$lib_tmp/net/$DEV_A/$IF_A"
sed -i "s,/sys/class/infiniband/{}/device/net/,$lib_tmp/net/{}/," "$suite/base.py"

gid=$(gid_index "$DEV_A" "$IP_A") || bail "no GID"
cd "$lib_tmp" || bail "no directory"
RUN_TIMEOUT=$((200 * ${CAIRN_TIMEOUT_SCALE:-1}))
lib_run in_a /usr/bin/python3 tests/run_tests.py -v --dev "$DEV_A" --gid "$gid"
status=$?

# lines "TEST RESULT", whatever the test printed in between
output | /usr/bin/python3 -c '
import re, sys
name = None
for line in sys.stdin:
    m = re.match(r"test_\w+ \((?:tests\.)?([\w.]+)\)", line)
    if m:
        name = m.group(1)
    m = re.search(r"(?:^|\.\.\. )(ok|FAIL|ERROR|skipped .*)$", line)
    if name and m:
        print(name, m.group(1))
        name = None
' >"$lib_tmp/results"

while read -r test; do
	case $test in '' | '#'*) continue ;; esac
	result=$(sed -n "s/^$test //p" "$lib_tmp/results")
	case $result in
	ok) ok "$test" ;;
	*)
		not_ok "$test"
		diag "${result:-did not run}"
		;;
	esac
done <"$list"
while read -r test result; do
	grep -qxF "$test" "$list" && continue
	case $result in
	ok) diag "passes, too: $test" ;;
	skipped*) ;;
	*) not_ok "$test" && diag "$result" ;;
	esac
done <"$lib_tmp/results"
diag "exit status $status, $(wc -l <"$lib_tmp/results") tests," \
	"$(grep -c ' skipped' "$lib_tmp/results") skipped"
[ "$lib_failed" = 0 ] || output | sed -n '/^=====/,$p' | head -n 150 | sed 's/^/# | /'
