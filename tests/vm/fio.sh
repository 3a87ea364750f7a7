#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 300
# kernels: 6.1 6.12
# once: 6.12
# nvdimm: 256M
#
# fio with the engine cairn-persist: its job files, shortened, and verification after a restart
# of the target.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

export CAIRN_FIO=$PROGS/../userspace/fio/cairn-persist.so
[ -e "$CAIRN_FIO" ] || skip_all "the engine is not built: scripts/fio fetch"
need_devdax
export DEVICE=$DEV_A HOST=$IP_B VERIFY=0
jobs=$(realpath "$(dirname "$0")/../../userspace/fio")
cd "$lib_tmp" || bail "no directory"

# target LOG [OPTION]...: a target for one job; ready when this returns
target() { start_server b "$1" "cairn_persist -d $DEV_B ${*:2}"; }

# job NAME [SED]: the job file, with less memory
job() {
	sed -e 's/^size=.*/size=1M/' -e "${2:-}" "$jobs/$1.fio" >"$1.fio"
}

dax='-M /dev/dax0.0'
for kind in nic-flush:"$dax" host-flush:"$dax -k host" emulated:; do
	name=${kind%%:*}
	job "$name"
	# words are options
	# shellcheck disable=SC2086
	target "$lib_tmp/target" ${kind#*:}
	run_ok "$name: written and verified" in_a fio "$name.fio"
	wait_for 30 lib_gone "$started" || stop "$started"
done
expect "the writes were durable ones" "$(($(counter "$DEV_B" persist_acks_sent) > 0))" 1

# what was written is there after a restart of the target
target "$lib_tmp/target" "$dax"
job nic-flush
run_ok "random writes" in_a fio nic-flush.fio
wait_for 30 lib_gone "$started" || stop "$started"
target "$lib_tmp/target" "$dax"
VERIFY=1 run_ok "they are there after a restart" in_a fio nic-flush.fio
wait_for 30 lib_gone "$started" || stop "$started"

# a damaged byte is found: the verification reads the target's memory
python3 - <<'END'
import mmap
import os
fd = os.open('/dev/dax0.0', os.O_RDWR)
memory = mmap.mmap(fd, 2 << 20)
memory[4096 * 100 + 2000] ^= 1
END
target "$lib_tmp/target" "$dax"
VERIFY=1 run_fail "a damaged byte is found" in_a fio nic-flush.fio
stop "$started"

target "$lib_tmp/target" "$dax"
job nic-flush 's/^rw=.*/rw=write/; s/^bs=.*/bs=64k/'
run_ok "sequential writes of 64 KiB" in_a fio nic-flush.fio
wait_for 30 lib_gone "$started" || stop "$started"

run_fail "no target" in_a fio nic-flush.fio
expect_that "it says why" "$(output | grep -c 'Connection refused') >= 1"
target "$lib_tmp/target" "$dax"
job nic-flush 's/^size=.*/size=128M/'
run_fail "more than the target has" in_a fio nic-flush.fio
expect_that "it says why" "$(output | grep -c "larger than the target's memory") >= 1"
stop "$started"
DEVICE=nowhere run_fail "no such device" in_a fio nic-flush.fio
