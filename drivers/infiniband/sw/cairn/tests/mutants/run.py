#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Can the tests fail? Build the protocol code with one deliberate defect each
and run the tests of it: they must find every defect.

    run.py --build DIR --compile COMMAND --link COMMAND --libs FILES FILE.mutants [NAME]...

The files are those of the driver, or with --top DIR of what is tested by the programs
in the build's tests/. The defects are in FILE.mutants, never in the sources: a mutant is a copy of one
source file in which some lines, which must be there exactly once, are others.
Prints KTAP, a point for each mutant, and the table of mutants and what found
them.

Without NAME a sixteenth of the mutants is built and run: the commit says which one. With
CAIRN_MUTANTS=all it is all of them. The lines of every mutant are looked up in any case.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import zlib

TESTS = pathlib.Path(__file__).resolve().parent.parent
CAIRN = TESTS.parent
LIMIT = 30      # seconds of CPU time that a program may take to find a defect
PARTS = 16      # a run tries one of them


class Mutant:
    def __init__(self, name):
        self.name = name
        self.what = ''
        self.file = ''
        self.by = ''        # what must find it, where there is a choice
        self.always = ''
        self.hunks = []     # (lines to find, lines instead)

    def source(self, top):
        text = (top / self.file).read_text()
        for old, new in self.hunks:
            old = ''.join(line + '\n' for line in old)
            if text.count(old) != 1:
                raise ValueError(f'{self.file} has these lines {text.count(old)} times:\n{old}')
            text = text.replace(old, ''.join(line + '\n' for line in new))
        return text


def read(path):
    """"name: what" begins a mutant, "file: ..." says where, - and + lines follow."""
    programs, mutants = [], []
    last = ''
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith('#'):
            last = ''
            continue
        if line[0] in '-+':
            m = mutants[-1]
            if line[0] == '-' and last != '-':
                m.hunks.append(([], []))
            m.hunks[-1][line[0] == '+'].append(line[1:])
            last = line[0]
            continue
        last = ''
        match = re.fullmatch(r'([\w-]+): (.+)', line)
        if not match:
            sys.exit(f'{path}:{number}: not understood')
        key, value = match.groups()
        if key == 'programs':
            programs = value.split()
        elif key in ('file', 'by', 'always'):
            setattr(mutants[-1], key, value)
        else:
            mutants.append(Mutant(key))
            mutants[-1].what = value
    return programs, mutants


def command(line, *more):
    done = subprocess.run(shlex.split(line) + [str(m) for m in more], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise ValueError(done.stdout)


def find(program):
    """The first test that fails, or None; a crash or a timeout is a failure, too."""
    # CPU time, not the clock: other work on the host is no defect
    child = subprocess.Popen(['prlimit', f'--cpu={LIMIT}:{LIMIT + 1}', program], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             stdin=subprocess.DEVNULL)
    passed, found = 'the start', None
    with child.stdout:
        for line in child.stdout:
            words = line.split()
            if words[:2] == ['not', 'ok']:
                found = words[3]
                break
            if words[:1] == ['ok']:
                passed = words[2]
    if found:
        child.kill()
    status = child.wait()
    if status and not found:
        late = status in (-signal.SIGXCPU, -signal.SIGKILL)
        found = ('timeout' if late else 'crash') + ' after ' + passed
    return found


def judge(m, programs, args):
    """The test that finds the mutant, or None."""
    dir = pathlib.Path(args.build) / 'mutants' / m.name
    dir.mkdir(parents=True, exist_ok=True)
    copy, object = dir / pathlib.Path(m.file).name, dir / 'mutant.o'
    copy.write_text(m.source(args.top))
    command(args.compile, '-I', (args.top / m.file).parent, '-c', '-o', object, copy)
    for name in programs:
        program = dir / name
        # the object comes first: the archives' own one is not pulled in
        command(args.link, '-o', program, f'{args.build}/tests/{name}.o', object,
                '-Wl,--start-group', *args.libs.split(), '-Wl,--end-group')
        found = find(program)
        program.unlink()
        if found:
            return f'{name}: {found}'
    return None


def attempt(m, programs, args):
    """The mutant, what found it or None, and what became of it otherwise."""
    try:
        return m, judge(m, programs, args), 'survived'
    except ValueError as error:
        return m, None, f'cannot be built\n{error}'.rstrip()


def part_of(commit):
    """The part of the mutants that a run at this commit tries."""
    return int(commit[:8], 16) % PARTS if commit else 0


def sample(mutants, part):
    """The mutants of one part, at least one: a name is always in the same part."""
    few = [m for m in mutants if zlib.crc32(m.name.encode()) % PARTS == part]
    return few or mutants[:1]


def head():
    """The commit of the sources, or nothing outside of git."""
    done = subprocess.run(['git', '-C', TESTS, 'rev-parse', 'HEAD'], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.strip()


def main():
    parser = argparse.ArgumentParser()
    for option in 'build', 'compile', 'link', 'libs':
        parser.add_argument('--' + option, required=True)
    parser.add_argument('--top', type=pathlib.Path, default=CAIRN)
    parser.add_argument('file', type=pathlib.Path)
    parser.add_argument('only', nargs='*')
    args = parser.parse_args()
    programs, mutants = read(args.file)
    every = len(mutants)
    if args.only:
        mutants = [m for m in mutants if m.name in args.only]
    elif os.environ.get('CAIRN_MUTANTS') != 'all':
        for m in mutants:
            try:
                m.source(args.top)
            except ValueError as error:
                sys.exit(f'{m.name}: {error}')
        mutants = sample(mutants, part_of(head()))
    print(f'KTAP version 1\n1..{len(mutants)}', flush=True)
    jobs = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    table = [('mutant', 'defect', 'found by')]
    alive = 0
    for n, (m, found, otherwise) in enumerate(
            jobs.map(lambda m: attempt(m, programs, args), mutants), 1):
        why = otherwise.splitlines()
        table.append((m.name, m.what, found or f'NOTHING: {why[0]}'))
        if not found:
            alive += 1
            print('\n'.join('# ' + line for line in why))
        print(f'{"ok" if found else "not ok"} {n} {m.name}', flush=True)
    print(f'# {len(mutants)} of {every} mutants')
    width = [max(len(row[i]) for row in table) for i in range(2)]
    for row in table:
        print(f'# {row[0]:{width[0]}}  {row[1]:{width[1]}}  {row[2]}')
    sys.exit(alive > 0)


if __name__ == '__main__':
    main()
