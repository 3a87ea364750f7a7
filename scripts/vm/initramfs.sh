#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# scripts/vm/initramfs.sh SERIES: prepare the files for QEMU's boot, once per kernel
# version, and print their paths:  the kernel and a tiny
# initramfs that mounts the host's root file system and goes on from there.
# With --root DIR the kernel is the one that is installed in that root file system.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/vm/kernels.sh
. "$here/kernels.sh"

if [ "$1" = --root ]; then
	dir=$2
	release=$(ls "$dir/lib/modules")
else
	release=$(kernel_release "$1")
	dir=$(kernel_dir "$1")
fi
busybox=$(command -v busybox)
other=''
[ "$1" = --root ] || other=$(kernel_root "$1") || {
	echo "no root file system for $1" >&2
	exit 1
}
[ -z "$other" ] || busybox=$other/usr/bin/busybox
key=$(cat "${BASH_SOURCE[0]}" "$here/initramfs-init" | sha256sum | cut -c1-12)
initrd=$dir/boot/initrd-$key.img
kernel=$dir/boot/vmlinux-$release
# arm64's kernel needs no unpacking
[ "$1" != arm64 ] || kernel=$dir/boot/vmlinuz-$release

modules() {
	local m

	for m in virtio_pci virtio_console 9pnet_virtio 9p overlay; do
		PATH=$PATH:/sbin:/usr/sbin modprobe -d "$dir" -S "$release" --show-depends "$m"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

build_initrd() {
	local tmp m

	tmp=$(mktemp -d)
	# shellcheck disable=SC2064
	trap "rm -rf '$tmp'" EXIT
	mkdir -p "$tmp"/{bin,dev,proc,sys,ro,rw,root,mod}
	cp "$busybox" "$tmp/bin/busybox"
	cp "$here/initramfs-init" "$tmp/init"
	chmod +x "$tmp/init"
	while read -r m; do
		case $m in
		*.xz) xz -dc "$m" >"$tmp/mod/$(basename "$m" .xz)" ;;
		*) cp "$m" "$tmp/mod/" ;;
		esac
		echo "/mod/$(basename "$m" .xz)"
	done < <(modules) >"$tmp/mod/order"
	(cd "$tmp" && find . | cpio --quiet -o -H newc) >"$initrd.$$"
	mv "$initrd.$$" "$initrd"
}

# The guest would spend seconds on unpacking itself in software emulation;
# QEMU boots the unpacked kernel through its PVH entry.
build_kernel() {
	python3 - "$dir/boot/vmlinuz-$release" "$kernel.$$" <<'PY'
import lzma, struct, subprocess, sys

image = open(sys.argv[1], 'rb').read()
# Documentation/arch/x86/boot.rst: the payload of the protected-mode part
setup_sects = image[0x1f1] or 4
offset, length = struct.unpack_from('<II', image, 0x248)
start = (setup_sects + 1) * 512 + offset
payload = image[start:start + length]
if payload[:6] == b'\xfd7zXZ\x00':
    elf = lzma.LZMADecompressor().decompress(payload)
elif payload[:4] == b'\x28\xb5\x2f\xfd':
    # the image's own length follows the frame; zstd calls it garbage
    elf = subprocess.run(['zstd', '-dc'], input=payload[:-4], check=True,
                         stdout=subprocess.PIPE).stdout
else:
    sys.exit('vmlinuz: unknown compression')
if elf[:4] != b'\x7fELF':
    sys.exit('vmlinuz: the payload is no ELF file')
open(sys.argv[2], 'wb').write(elf)
PY
	mv "$kernel.$$" "$kernel"
}

if [ ! -e "$initrd" ]; then
	# of earlier versions of the scripts; one may just be booting
	find "$dir/boot" -name 'initrd-*.img' -mtime +1 -delete
	build_initrd
fi
[ -e "$kernel" ] || build_kernel
echo "$kernel $initrd"
