#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 200
# kernels: 6.1 6.12
# nvdimm: 256M
#
# A group whose members are reached by two devices.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

need_devdax
export CAIRN_DAX=/dev/dax0.0
points persist_group
