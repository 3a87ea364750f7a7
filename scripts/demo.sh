#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# From a fresh machine to a running RDMA device, shown step by step.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/.." && pwd)
kernel=${KVER:-6.12}
kernel=${kernel%% *}

cat <<EOT
cairn: an RDMA NIC in software.

This installs the Debian packages that are missing, builds the kernel module and
the verbs provider, boots a stock Debian kernel ($kernel) in a VM without hardware
help, and runs RDMA programs between two hosts in it. Nothing else is changed
outside of $top and the caches.

EOT

cd "$top"
echo '==> installing what is missing'
scripts/deps.sh
# this kernel only: another module takes as long again
echo "==> building module (kernel $kernel) and provider"
make --no-print-directory -j"$(nproc)" KVER="$kernel" >build-demo.log 2>&1 || {
	tail -n 30 build-demo.log
	exit 1
}
rm -f build-demo.log
mkdir -p build
work=$(mktemp -d "$top/build/demo.XXXXXX")
trap 'rm -rf "$work"' EXIT
truncate -s 64M "$work/nvdimm"
mkdir "$work/out"

# the NVDIMM is a file here, so its contents outlive the VM
boot() {
	scripts/vm/run --kernel "$kernel" --topology pair --timeout 200 --out "$work/out" \
		--nvdimm 64M --nvdimm-file "$work/nvdimm" --power-cut -- "$@"
}

echo '==> booting the VM'
boot "$here/demo/guest.sh"
echo '==> booting it again'
boot "$here/demo/guest-again.sh"
if [ -e "$work/out/failed" ]; then
	echo 'Something failed, see above.'
	exit 1
fi
echo
echo 'All of it worked. Next: make vm (a shell in such a VM), README.md.'
