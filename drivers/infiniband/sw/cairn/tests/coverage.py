#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Lines that tests reach: coverage.py [--lines] SOURCES COUNTS...

Each COUNTS is a directory with the .gcda files of a run of code built with --coverage, and
the .gcno files beside them. A line counts as reached when one of the runs did. Prints for
each file below SOURCES how many lines were reached and the functions that were not, then a
table with a line for each directory. --lines: also the text of each line that was not reached.
"""
import collections
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

arguments = sys.argv[1:]
show_lines = '--lines' in arguments
if show_lines:
    arguments.remove('--lines')
sources, *runs = (pathlib.Path(a).resolve() for a in arguments)
lines = collections.defaultdict(dict)
functions = collections.defaultdict(dict)
for run in runs:
    with tempfile.TemporaryDirectory() as where:
        data = [str(p) for p in run.rglob('*.gcda')]
        # files of one name in two directories have two reports
        subprocess.run(['gcov', '--json-format', '--hash-filenames', *data], cwd=where,
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for report in pathlib.Path(where).glob('*.gz'):
            for file in json.loads(gzip.decompress(report.read_bytes()))['files']:
                # kbuild compiles links to the sources
                path = pathlib.Path(file['file']).resolve()
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
    room = name.split('/')[0] + '/' if '/' in name else 'others'
    if room == 'tests/':
        continue
    rooms[room][0] += reached
    rooms[room][1] += len(lines[name])
    missed = [f for f, count in functions[name].items() if not count]
    print(f'{name}: {reached} of {len(lines[name])} lines'
          + (f'; never called: {", ".join(missed)}' if missed else ''))
    if show_lines:
        text = (sources / name).read_text(encoding='utf-8').split('\n')
        for n in sorted(n for n, count in lines[name].items() if not count):
            print(f'{name}:{n}: {text[n - 1].strip()}')
if not rooms:
    sys.exit('no counts')
for room, (reached, all_lines) in rooms.items():
    print(f'{room:10} {reached:6} of {all_lines:6} lines {100 * reached / all_lines:6.1f} %')
