#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: interop
# timeout: 120
# kernels: 6.1 6.12
# nvdimm: 256M
#
# An unmodified peer, rdma_rxe: its RDMA WRITEs into persistent memory are
# acknowledged only once they are durable.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

need_devdax
export CAIRN_DAX=/dev/dax0.0
fences=$(counter "$DEV_B" persist_fences) flushes=$(counter "$DEV_B" persist_host_flushes)
run_ok "WRITE and SEND of rxe into persistent memory" persist_traffic -w -T 5 &&
	diag "$(output | tail -n 1)"
run_ok "... path MTU 4096" persist_traffic -w -T 3 -m 4096 -s 100000 -d 8 &&
	diag "$(output | tail -n 1)"
expect_that "NIC flush happened" "$(counter "$DEV_B" persist_fences) > $fences"
expect_that "host flush happened" "$(counter "$DEV_B" persist_host_flushes) > $flushes"

# FLUSH and ATOMIC WRITE, which rxe has since 6.2
case $(uname -r) in
6.1.*) skip "FLUSH and ATOMIC WRITE" "rdma_rxe of this kernel has none" ;;
*)
	points flush rxe
	CAIRN_A=$DEV_B CAIRN_B=$DEV_A points flush
	;;
esac

# acknowledged WRITEs of rxe survive a power failure (persist_shadow.sh)
insmod "$(kmod cairn_shadow)" base="$(cat /sys/bus/dax/devices/dax0.0/resource)" \
	size=$((2 << 20)) || bail "no shadow"
rounds=${CAIRN_SOAK:+500}
run_ok "what was acknowledged to rxe survives" persist_shadow -w -n "${rounds:-10}" &&
	diag "$(output | tail -n 1)"
echo 5 >/sys/module/cairn_shadow/parameters/defect
run_fail "noticed: acknowledged before the fence" persist_shadow -w -n 10
rmmod cairn_shadow

# an ordinary peer says at once that it does not know the request
points peer plain

# the flags must not mean something else, or nothing, to another provider
refuses_flags() {
	/usr/bin/python3 - "$1" <<-'PY'
	import sys
	from pyverbs.device import Context
	from pyverbs.mr import MR
	from pyverbs.pd import PD
	from pyverbs.pyverbs_error import PyverbsRDMAError
	pd = PD(Context(name=sys.argv[1]))
	MR(pd, 4096, 3).close()
	for bit in 16, 17, 18:
	    try:
	        MR(pd, 4096, 3 | 1 << bit)
	    except PyverbsRDMAError as e:
	        print(e)
	    else:
	        sys.exit(f'bit {bit} was taken')
	PY
}
run_ok "rxe refuses persistent regions" refuses_flags "$DEV_A"
