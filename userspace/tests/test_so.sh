#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The built library: names, exports, loading and refusing to load, installing.
#
#   test_so.sh LIBRARY-DIR HELPER-DIR [NUMBER-OF-THE-PRIVATE-INTERFACE]
set -u

dir=$1
helpers=$2
pabi=${3:-34}
source=$(cd "$(dirname "$0")/.." && pwd)
version=$(cat "$source/../VERSION")
# shellcheck source=userspace/tests/result.sh
. "${0%/*}/result.sh"
export LC_ALL=C

one_file() {
	local name

	for name in libcairn.so libcairn.so.1 "libcairn-rdmav$pabi.so"; do
		[ -L "$dir/$name" ] || return 1
		[ "$dir/$name" -ef "$dir/libcairn.so.$version" ] || return 1
	done
	[ -f "$dir/libcairn.so.$version" ] && [ ! -L "$dir/libcairn.so.$version" ]
}

# the calls that cairndv.h declares
declared() {
	grep -oE '\bcairndv_[a-z_]+\([^0-9)]' "$source/providers/cairn/cairndv.h" | sed 's/(.*//' | sort -u
}

# these, all in a version node, and no others
exports() {
	local out

	out=$(nm -D --defined-only "$dir/libcairn.so" |
		awk '$2 == "T" && $3 ~ /@@CAIRN_1\.[0-9]+$/ { sub(/@.*/, "", $3); print $3; next }
		     $2 != "A" { print "unexpected", $0 }' | sort)
	[ "$out" = "$(declared)" ] || { diff <(declared) - <<<"$out" | sed 's/^/# /'; return 1; }
}

# a page for each call, without a complaint of the formatter
manual() {
	local page out bad=0

	for page in $(declared); do
		[ -f "$source/man/$page.3" ] || { echo "# no man page: $page"; bad=1; }
		grep -qw "$page (3)" "$source/man/cairndv.7" ||
			{ echo "# not in cairndv.7: $page"; bad=1; }
	done
	for page in "$source"/man/*.[0-9]; do
		# another name of a page
		if [[ $(head -n 1 "$page") == .so\ man?/* ]]; then
			out=$source/man/$(sed 's,.*/,,;1q' "$page")
			[ -f "$out" ] || { echo "# $page: no $out"; bad=1; }
			continue
		fi
		out=$(MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
		[ -z "$out" ] || { echo "# $out"; bad=1; }
		grep -qE '^\.SH NAME$' "$page" || { echo "# no NAME: $page"; bad=1; }
	done
	return $bad
}

# words TABLE: the names in a table of the library
words() {
	grep -oE '(\{|=) "[A-Za-z_-]{2,}",' "$source/providers/cairn/$1" | sed 's/.*"\(.*\)",/\1/' | sort -u
}

# knows TABLE FILE...: a page or the tests have each of these names
knows() {
	local word bad=0

	for word in $(words "$1"); do
		sed 's/\\-/-/g' "${@:2}" | grep -qE "(^|[^A-Za-z_-])$word([^A-Za-z_-]|\$)" && continue
		echo "# $word of $1 is not in ${*:2}"
		bad=1
	done
	return $bad
}

# Each word of rules and profiles, and each code of the checks: its page has it, and a test.
workbench() {
	local man=$source/man tests=$source/tests bad=0

	knows fault_rules.c "$man/cairn_fault.7" || bad=1
	knows fault_rules.c "$tests/test_fault.c" || bad=1
	knows inject.c "$man/cairn_fault.8" || bad=1
	knows inject.c "$tests/test_inject.c" "$source/../tests/vm/src/wire_faults.c" || bad=1
	knows check_report.c "$man/cairn_check.1" || bad=1
	knows check_report.c "$tests/test_check.c" || bad=1
	knows profile_file.c "$man/cairn_profile.7" || bad=1
	knows profile_file.c "$tests/test_profile.c" || bad=1
	return $bad
}

soname() {
	readelf -d "$dir/libcairn.so" | grep -q 'SONAME.*\[libcairn.so.1\]'
}

# Only libraries that each Debian system with libibverbs has. The dynamic linker has
# __tls_get_addr(), for variables of a thread.
needed() {
	! readelf -d "$dir/libcairn.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
		grep -qvxE 'libibverbs\.so\.1|libc\.so\.6|ld-linux-[a-z0-9_-]+\.so\.[0-9]'
}

private_version() {
	nm -D "$dir/libcairn.so" | grep -q "verbs_register_driver_$pabi@IBVERBS_PRIVATE_$pabi"
}

hardened() {
	readelf -d "$dir/libcairn.so" | grep -q 'FLAGS.*NOW' &&
		! readelf -lW "$dir/libcairn.so" | grep -q 'GNU_STACK.*RWE'
}

loads() {
	"$helpers/so_load" "$dir/libcairn-rdmav$pabi.so"
}

# under both names it is one library and registers once
registers_once() {
	local out

	out=$(LD_PRELOAD=$helpers/so_preload.so "$helpers/so_load" \
		"$dir/libcairn-rdmav$pabi.so" "$dir/libcairn.so.1")
	[ "$out" = "registered cairn" ] || { echo "# $out"; return 1; }
}

refuses() {
	local out

	out=$(COMP_MASK_MOVED=$1 LD_PRELOAD=$helpers/so_preload.so \
		"$helpers/so_load" "$dir/libcairn-rdmav$pabi.so" 2>&1)
	# one line that says what to do, and no registration
	[[ $out == libcairn:*" this libcairn is for rdma-core "*"set IBV_DRIVERS="* && $out != *$'\n'* ]] && return
	echo "# $out"
	return 1
}

# the steps of an application: pkg-config, compile as C and C++, run
links_against() {
	local root=$1 flags lang

	flags=$(PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
		PKG_CONFIG_PATH=$(dirname "$(find "$root" -name libcairn.pc)") \
		pkg-config --cflags --libs libcairn) || return 1
	for lang in c c++; do
		# shellcheck disable=SC2086
		echo '#include <infiniband/cairndv.h>
		      int main(void) { return cairndv_is_supported(NULL); }' |
			g++ -x "$lang" -Wall -Wextra -Werror -o "$root/app" - $flags -libverbs || return 1
		LD_LIBRARY_PATH=$(dirname "$(find "$root" -name libcairn.so.1)") "$root/app" || return 1
	done
	rm "$root/app"
}

finds_plugin() {
	local root=$helpers/root lib

	rm -rf "$root"
	make -s -C "$(dirname "$0")/.." BUILD="$dir" DESTDIR="$root" install >/dev/null || return 1
	lib=$(dirname "$(find "$root" -name "libcairn.so.$version")")
	[ "$lib/libibverbs/libcairn-rdmav$pabi.so" -ef "$lib/libcairn.so.$version" ] &&
		[ "$lib/libcairn.so" -ef "$lib/libcairn.so.$version" ] &&
		grep -qx 'driver cairn' "$root/etc/libibverbs.d/cairn.driver" &&
		[ -f "$root/usr/include/rdma/cairn-abi.h" ] &&
		[ -f "$root/usr/share/man/man3/cairndv_query_qp.3" ] || return 1
	links_against "$root" || return 1
	# only links that stay valid where the tree ends up
	! find "$root" -lname '/*' | grep -q . || return 1
	# what an earlier version has left, and what Python makes
	touch "$lib/libcairn.so.1.0"
	mkdir "$root/usr/lib/python3/dist-packages/cairn/__pycache__"
	touch "$root/usr/lib/python3/dist-packages/cairn/__pycache__/log.cpython-311.pyc"
	make -s -C "$(dirname "$0")/.." BUILD="$dir" DESTDIR="$root" uninstall >/dev/null || return 1
	! find "$root" ! -type d | grep -q .
}

# units at boot start the installed programs, and scripts read the installed files
elsewhere() {
	local root=$helpers/elsewhere units

	rm -rf "$root"
	make -s -C "$(dirname "$0")/.." BUILD="$dir" DESTDIR="$root" PREFIX=/opt/cairn \
		SYSCONFDIR=/opt/etc install >/dev/null || return 1
	units=$root/opt/cairn/lib/systemd/system
	[ -x "$root/opt/cairn/sbin/cairn-link" ] && [ -f "$root/opt/etc/cairn.conf" ] &&
		[ "$(grep -c '^Exec.*=/opt/cairn/sbin/cairn-link ' "$units/cairn-link.service")" = 3 ] &&
		grep -qx 'ExecStart=/opt/cairn/sbin/cairn-link up --netdev %i' "$units/cairn-link@.service" &&
		! grep -rE '/usr/sbin|[^t]/etc/cairn.conf' "$root/opt/cairn/lib" "$root/opt/cairn/sbin" &&
		[ -x "$root/opt/cairn/bin/cairn_metrics" ] &&
		! grep -rI '/usr/share/cairn/\|[^t]/etc/cairn.conf' "$root/opt/cairn/bin" "$root/opt/cairn/share/bash-completion" &&
		rm -r "$root"
}

echo "KTAP version 1"
one_file; result $? one_file
exports; result $? exports
manual; result $? manual
workbench; result $? workbench
soname; result $? soname
needed; result $? needed
private_version; result $? private_version
hardened; result $? hardened
loads; result $? loads
registers_once; result $? registers_once
refuses 8; result $? refuses_later_library
refuses -8; result $? refuses_earlier_library
finds_plugin; result $? install_and_uninstall
elsewhere; result $? install_elsewhere
result_end
