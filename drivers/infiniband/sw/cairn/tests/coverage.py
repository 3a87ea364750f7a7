#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Coverage of the protocol code by the fuzzers' corpora: coverage.py OBJECTS SOURCES

OBJECTS has the .gcda files of a run of programs built with --coverage. Prints for each
directory of SOURCES the lines that were reached and the functions that were not.
"""
import collections
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

objects, sources = map(pathlib.Path, sys.argv[1:])
lines = collections.defaultdict(dict)
functions = collections.defaultdict(dict)
with tempfile.TemporaryDirectory() as where:
    data = [str(p.resolve()) for p in objects.rglob('*.gcda')]
    subprocess.run(['gcov', '--json-format', *data], cwd=where, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for report in pathlib.Path(where).glob('*.gz'):
        for file in json.loads(gzip.decompress(report.read_bytes()))['files']:
            path = pathlib.Path(file['file'])
            if sources not in path.parents or path.suffix != '.c':
                continue
            name = str(path.relative_to(sources))
            for line in file['lines']:
                n = line['line_number']
                lines[name][n] = lines[name].get(n, 0) + line['count']
            for function in file['functions']:
                f = function['name']
                functions[name][f] = functions[name].get(f, 0) + function['execution_count']

rooms = collections.defaultdict(lambda: [0, 0])
for name in sorted(lines):
    reached = sum(1 for count in lines[name].values() if count)
    room = name.split('/')[0]
    if room == 'tests':
        continue
    rooms[room][0] += reached
    rooms[room][1] += len(lines[name])
    missed = [f for f, count in functions[name].items() if not count]
    print(f'{name}: {reached} of {len(lines[name])} lines'
          + (f'; never called: {", ".join(missed)}' if missed else ''))
for room, (reached, all_lines) in rooms.items():
    print(f'{room}/: {reached} of {all_lines} lines, {100 * reached / all_lines:.1f} %')
