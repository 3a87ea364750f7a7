#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The Python module without a device: its structures against the headers, files, and errors.
#
#   test_python.sh BUILD-DIR
set -u

dir=$1
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cairn-python.XXXXXX")
trap 'rm -rf "$work"' EXIT
# /usr/bin/python3: packages of Debian; the library is the built one
LD_LIBRARY_PATH=$dir PYTHONPATH=$dir/python PYTHONDONTWRITEBYTECODE=1 \
	/usr/bin/python3 "$source/tests/test_python.py" "$work" \
	-I"$dir/include" -I"$source/examples" -I"$source/python"
