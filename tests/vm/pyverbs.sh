#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 720
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# Debian's pyverbs suite on one device. The tests in pyverbs-must-pass.txt must run and
# pass. Tests in pyverbs-skipped.txt skip themselves, as the device lacks a feature that
# the list names. They run in soaks only, as each takes a second.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
# shellcheck disable=SC2154
suite=$lib_tmp/tests
[ -d /usr/share/doc/rdma-core/tests ] || skip_all "the suite is not installed"
cp -r /usr/share/doc/rdma-core/tests "$suite" && gunzip -f "$suite"/*.gz || bail "no suite"
# tests for other devices would all be skipped
rm "$suite"/test_{mlx5,efa,cuda}*

# huge pages, and dma-bufs without a GPU
huge=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
echo 8 >$huge
modprobe -q vgem || bail "no vgem"
wait_for 10 test -e /dev/dri/card0

gid=$(gid_index "$DEV_A" "$IP_A") || bail "no GID"
mac=$(in_a cat /sys/class/net/$IF_A/address) || bail "no MAC"
mode=quick
[ "${CAIRN_SOAK:-0}" != 1 ] || mode=all
RUN_TIMEOUT=$((200 * ${CAIRN_TIMEOUT_SCALE:-1}))
points in_a env LD_PRELOAD="$PROGS/dmabuf_preload.so" /usr/bin/python3 "$here/pyverbs.py" \
	"$suite" "$here/pyverbs-must-pass.txt" "$here/pyverbs-skipped.txt" $mode "$IP_A" "$mac" --dev "$DEV_A" --gid "$gid"
echo 0 >$huge
modprobe -r vgem
