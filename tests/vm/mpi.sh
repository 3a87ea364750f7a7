#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: none
# timeout: 150
# kernels: 6.1 6.12
# once: 6.12
#
# Open MPI of the distribution over UCX: two ranks, without shared memory between
# them, and one device that is both ends.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/ulp.sh
. "$(dirname "$0")/ulp.sh"

ulp_programs mpirun
ulp_up

# mpi TRANSPORTS: only UCX may carry messages and one-sided access
mpi() {
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		mpirun -np 2 --oversubscribe --bind-to none \
		--mca plm_rsh_agent /bin/sh --mca pml ucx --mca osc ucx --mca btl self \
		-x UCX_NET_DEVICES=$ULP_DEV:1 -x "UCX_TLS=$1,self" "$PROGS/mpi_collectives"
}

RUN_TIMEOUT=$((RUN_TIMEOUT * 2))
before=$(counter $ULP_DEV loopback_packets)
run_ok "over connections" mpi rc,ud
expect_that "all of it went through the device" \
	"$(counter $ULP_DEV loopback_packets) - $before > 250"
run_ok "over datagrams" mpi ud
run_ok "no queue pair is left" wait_for 30 ulp_idle
ulp_down
