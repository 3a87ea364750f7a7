#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The directory of "make providers": each version of libibverbs must get its provider from
# there, exactly one, and an unknown version a message. The libraries are fakes with the
# names, layouts and functions of that version (fake_verbs.c).
#
#   test_providers.sh HELPER-DIR
set -u

helpers=$(realpath "$1")
source=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$source/.." && pwd)
dir=$helpers/providers
# eight builds of the provider: without optimisation they take half of the time
export CAIRN_OBJECTS=$helpers/interfaces CFLAGS=-O0
# shellcheck source=userspace/tests/result.sh
. "${0%/*}/result.sh"
export LC_ALL=C

# range VERSION: first version and private interface of its line in abi/versions
range() {
	awk -v v="$1" '!/^#/ && $1 <= v && v <= $2 { print $1, $3 }' "$source/abi/versions"
}

# fake VERSION PABI OBJECTS-OF [FILE-NAME]: the library, in a directory that is printed
fake() {
	local where=$helpers/fake-$1-${4:-}

	rm -rf "$where"
	FUNCTIONS=$source/tests/fake_verbs.c CFLAGS="-O1 -DFAKE_CORE=$1 -DFAKE_PABI=$2" \
		"$source/abi/link_only.sh" "$2" "$where/${4:-libibverbs.so.1.14.$1.0}" \
		"$CAIRN_OBJECTS/$3"/*.o || return
	ln -sf "${4:-libibverbs.so.1.14.$1.0}" "$where/libibverbs.so.1"
	echo "$where"
}

# load FAKE FILE: what is printed when that libibverbs loads it
load() {
	LD_LIBRARY_PATH=$1 "$helpers/so_load" "$2" 2>&1
}

said() {
	# shellcheck disable=SC2053
	[[ $1 == $2 ]] && [[ $1 != *$'\n'* ]] && return
	echo "# $1"
	return 1
}

# the directory may be a link, as /opt may be
takes() {
	local first pabi lib

	read -r first pabi < <(range "$1")
	lib=$(fake "$1" "$pabi" "$first" "${2:-}") || return 1
	lib=$(load "$lib" "$helpers/elsewhere-lib/libcairn-rdmav$pabi.so")
	said "$lib" 'registered cairn from */*' || return
	[ "$(readlink -f "${lib##* from }")" = "$dir/rdma-core-$first/libcairn.so.1" ]
}

unknown() {
	local lib

	lib=$(fake 66 59 62) || return 1
	said "$(load "$lib" "$dir/libcairn-rdmav59.so")" \
		"libcairn: $dir has no provider for *libibverbs.so.1.14.66.0 of rdma-core 66;*\"make providers\")"
}

# refuses VERSION FIRST: the provider itself knows which libraries are not its own
refuses() {
	local pabi lib

	read -r _ pabi < <(range "$2")
	lib=$(fake "$1" "$pabi" "$2" "${3:-}") || return 1
	said "$(load "$lib" "$dir/rdma-core-$2/libcairn.so.1")" \
		"libcairn: *, this libcairn is for rdma-core $2 to *"
}

# every function that is needed is in the private node or in a public one
nodes() {
	local first pabi bad=0

	while read -r first _ pabi; do
		nm -D --undefined-only "$dir/rdma-core-$first/libcairn.so.1" | grep -E ' _?(ibv|verbs)_' |
			grep -vE "@IBVERBS_(PRIVATE_$pabi|1\.[0-9]+)$" && bad=1
		nm -D --undefined-only "$dir/rdma-core-$first/libcairn.so.1" |
			grep -q "verbs_register_driver_$pabi@IBVERBS_PRIVATE_$pabi" || bad=1
	done < <(grep -v '^#' "$source/abi/versions")
	return $bad
}

# an image with an older C library must be able to load it
old_enough() {
	local newest

	newest=$(nm -D --undefined-only "$dir"/rdma-core-*/libcairn.so.1 "$dir"/*.so |
		sed -n 's/.*@GLIBC_//p' | sort -V | tail -n 1)
	[ "$(printf '%s\n' 2.34 "$newest" | sort -V | tail -n 1)" = 2.34 ] && return
	echo "# needs glibc $newest"
	return 1
}

# a directory of the user's is not replaced
keeps() {
	local said

	mkdir -p "$helpers/other/lib"
	said=$("$top/scripts/providers" "$helpers/other" 2>&1) && return 1
	[ -d "$helpers/other/lib" ] && [[ $said == *'has other contents (./lib)'* ]]
}

echo "KTAP version 1"
keeps; result $? keeps_other_contents
"$top/scripts/providers" "$dir"; result $? build
ln -sfn "$dir" "$helpers/elsewhere-lib"
for v in 39 43 44 45 50 56 57 58 59 61 62 63 64 65; do
	takes $v; result $? "takes_the_one_for_$v"
done
for v in 39 44 56 61 62; do
	takes $v libibverbs.so.1.0; result $? "takes_it_by_layout_for_$v"
done
unknown; result $? unknown_version
refuses 62 59; result $? "59_refuses_62"
refuses 61 62; result $? "62_refuses_61"
refuses 45 44 libibverbs.so.1.0; result $? "44_refuses_45"
refuses 57 45; result $? "45_refuses_57"
nodes; result $? nodes
old_enough; result $? old_enough
! find "$dir" -lname '/*' | grep -q .; result $? relative_links
[ "$(<"$dir/cairn.driver")" = "driver /opt/cairn/lib/libcairn" ]; result $? driver_file
result_end
