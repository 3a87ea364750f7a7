#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Python that is installed under mypy, with every strict option, and it and its tests under
# pyflakes.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cache=$(mktemp -d "${TMPDIR:-/tmp}/cairn-mypy.XXXXXX")
trap 'rm -rf "$cache"' EXIT
mypy --strict --no-error-summary --python-version 3.9 --cache-dir "$cache" userspace/python/cairn userspace/tools/cairn_explain
mypy --strict --no-error-summary --python-version 3.9 --cache-dir "$cache" userspace/tools/cairn_capture
pyflakes3 userspace/python/cairn userspace/tools/cairn_explain userspace/tools/cairn_capture userspace/tests/*.py tests/vm/python.py
