#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The built library: names, exports, loading and refusing to load, installing.
#
#   test_so.sh LIBRARY-DIR HELPER-DIR
set -u

dir=$1
helpers=$2
n=0
failed=0
export LC_ALL=C

result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n $2"
	else
		echo "not ok $n $2"
		failed=1
	fi
}

one_file() {
	local name

	for name in libcairn.so libcairn.so.1 libcairn-rdmav34.so; do
		[ -L "$dir/$name" ] || return 1
		[ "$dir/$name" -ef "$dir/libcairn.so.1.0.0" ] || return 1
	done
	[ -f "$dir/libcairn.so.1.0.0" ] && [ ! -L "$dir/libcairn.so.1.0.0" ]
}

# nothing but the version node
exports() {
	local out

	out=$(nm -D --defined-only "$dir/libcairn.so" | awk '{ print $2, $3 }')
	[ "$out" = "A CAIRN_1.0" ] || { sed 's/^/# /' <<<"$out"; return 1; }
}

soname() {
	readelf -d "$dir/libcairn.so" | grep -q 'SONAME.*\[libcairn.so.1\]'
}

# no library that a Debian system with libibverbs might lack
needed() {
	! readelf -d "$dir/libcairn.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
		grep -qvxE 'libibverbs\.so\.1|libc\.so\.6'
}

private_version() {
	nm -D "$dir/libcairn.so" | grep -q 'verbs_register_driver_34@IBVERBS_PRIVATE_34'
}

hardened() {
	readelf -d "$dir/libcairn.so" | grep -q 'FLAGS.*NOW' &&
		! readelf -lW "$dir/libcairn.so" | grep -q 'GNU_STACK.*RWE'
}

loads() {
	"$helpers/so_load" "$dir/libcairn-rdmav34.so"
}

# under both names it is one library and registers once
registers_once() {
	local out

	out=$(LD_PRELOAD=$helpers/so_preload.so "$helpers/so_load" \
		"$dir/libcairn-rdmav34.so" "$dir/libcairn.so.1")
	[ "$out" = "registered cairn" ] || { echo "# $out"; return 1; }
}

refuses() {
	local out

	out=$(COMP_MASK_AT=$1 LD_PRELOAD=$helpers/so_preload.so \
		"$helpers/so_load" "$dir/libcairn-rdmav34.so" 2>&1)
	# one line, and nothing registered
	[[ $out == libcairn:*"version 44"* && $out != *$'\n'* ]] && return
	echo "# $out"
	return 1
}

finds_plugin() {
	local root=$helpers/root lib

	rm -rf "$root"
	make -s -C "$(dirname "$0")/.." BUILD="$dir" DESTDIR="$root" install >/dev/null || return 1
	lib=$(dirname "$(find "$root" -name libcairn.so.1.0.0)")
	[ "$lib/libibverbs/libcairn-rdmav34.so" -ef "$lib/libcairn.so.1.0.0" ] &&
		[ "$lib/libcairn.so" -ef "$lib/libcairn.so.1.0.0" ] &&
		grep -qx 'driver cairn' "$root/etc/libibverbs.d/cairn.driver" &&
		[ -f "$root/usr/include/rdma/cairn-abi.h" ] || return 1
	# only links that stay valid where the tree ends up
	! find "$root" -lname '/*' | grep -q . || return 1
	make -s -C "$(dirname "$0")/.." BUILD="$dir" DESTDIR="$root" uninstall >/dev/null || return 1
	! find "$root" ! -type d | grep -q .
}

echo "KTAP version 1"
one_file; result $? one_file
exports; result $? exports
soname; result $? soname
needed; result $? needed
private_version; result $? private_version
hardened; result $? hardened
loads; result $? loads
registers_once; result $? registers_once
refuses 360; result $? refuses_later_library
refuses 344; result $? refuses_earlier_library
finds_plugin; result $? install_and_uninstall
echo "1..$n"
exit $failed
