#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 300
# kernels: 6.1 6.12
# once: 6.12
# nvdimm: 256M
#
# The Python module: its documented examples, and targets on the other host that fail.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

need_devdax
here=$(realpath "$(dirname "$0")")
pages=$here/../../Documentation
RUN_TIMEOUT=$((200 * ${CAIRN_TIMEOUT_SCALE:-1}))
cd "$lib_tmp" || bail "no directory"
points in_a env PYTHONPATH="$here/../../userspace/tests" PYTHONDONTWRITEBYTECODE=1 \
	/usr/bin/python3 "$here/python.py" "$IP_B" "$pages/python.rst" "$pages/persistence.rst"
