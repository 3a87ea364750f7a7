#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: interop
# nvdimm: 256M
# timeout: 120
# kernels: 6.1 6.12
# boot: shared
#
# The guard of the RoCE port in a namespace that also has rdma_rxe: the packets of rdma_rxe
# leave by sockets of the kernel, and pass. A user's datagrams do not. It uses no NVDIMM, but
# shares a boot with tests that do.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"

# shellcheck disable=SC2119
find_gids
ip link add gd type dummy && ip link set gd up
run_ok "a device beside rdma_rxe" rdma link add cairn_g type cairn netdev gd
refused() { cat /sys/class/infiniband/cairn_g/ports/1/hw_counters/tx_spoofed; }
run_ok "RC" verbs_verify -n 100
run_ok "RC over IPv6" verbs_verify -f 6 -n 50
run_ok "UD" verbs_verify -c ud -n 50
expect "nothing was refused" "$(refused)" 0
# shellcheck disable=SC2016
run_fail "a user may not send" setpriv --reuid 65534 --regid 65534 --clear-groups \
	bash -c 'echo >"/dev/udp/$0/4791"' "$IP_B"
expect "... and is counted" "$(refused)" 1
rdma link delete cairn_g
ip link delete gd
