#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The last part of the demo, after the power failure: what was reported as durable
# is in the NVDIMM. /mnt/out/acked says how much that was.
set -u

acked=$(($(cat /mnt/out/acked)))
printf '\n==> After the power failure: is every record there that was reported?\n'
echo "\$ cairn_log verify -m /dev/dax0.0 -k $acked"
cairn_log verify -m /dev/dax0.0 -k $acked || : >/mnt/out/failed
