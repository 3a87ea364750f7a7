#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The kernel's checkpatch --strict over our C sources. The headers packages do
# not have it: it is taken from linux-source-6.12, once, into the cache.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=scripts/vm/kernels.sh
. "$top/scripts/vm/kernels.sh"
cd "$top"

package=linux-source-6.12
version=$(dpkg-query -W -f '${Version}' $package)
dir=$(cairn_cache)/checkpatch-$version
if [ ! -e "$dir/checkpatch.pl" ]; then
	tmp=$(mktemp -d "$dir.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	tar -C "$tmp" --strip-components=2 -xf /usr/src/$package.tar.xz \
		$package/scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch}
	chmod 755 "$tmp"
	mv -T "$tmp" "$dir" || [ -e "$dir/checkpatch.pl" ]
fi

# Rules that do not fit a module outside the tree, or this project:
# - FILE_PATH_CHANGES: there is no MAINTAINERS
# - SPDX_LICENSE_TAG: checkpatch looks for a kernel tree
# - MACRO_ARG_REUSE, MACRO_ARG_UNUSED: lists as macros (X-macros) do just that
# - CAMELCASE: of _Static_assert, which is what headers for both sides have
# LINUX_VERSION_CODE is for layers.py to judge, which knows compat/.
ignore=FILE_PATH_CHANGES,SPDX_LICENSE_TAG,MACRO_ARG_REUSE,MACRO_ARG_UNUSED
ignore+=,CAMELCASE,LINUX_VERSION_CODE
# single findings that are wrong: "FILE: TYPE" or a spelling
allowed='netdev_hold\.h:[0-9]*: WARNING:NEW_TYPEDEFS|(counters|trace)\.h:[0-9]*: ERROR:COMPLEX_MACRO|trace\.h:[0-9]*: WARNING:TRAILING_SEMICOLON|'\''[Aa]cknowledgement'\'' may be misspelled'

# checkpatch leaves a cache of names in the working directory
work=$(mktemp -d)
trap 'rm -rf "$work" ${tmp:+"$tmp"}' EXIT
find drivers include -name '*.[ch]' -not -path '*/tests/*' -printf "$top/%p\0" | sort -z |
	(cd "$work" && xargs -0 -r -n 6 -P "$(nproc)" perl "$dir/checkpatch.pl" --no-tree \
		--root="$top" --strict --terse --no-summary --show-types \
		--max-line-length=100 --ignore "$ignore" --file) >"$work/out" || :
if grep -vE "$allowed" "$work/out" | sed "s|^$top/||"; then
	exit 1
fi
