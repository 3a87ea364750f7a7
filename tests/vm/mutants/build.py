#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Build cairn.ko with one deliberate defect each, for tests/vm/persist_mutants.sh.

    build.py KERNEL DIRECTORY [all]

KERNEL is a series for which the module is built. The defects are in driver.mutants;
without "all" those with "always: yes" are built, and the lines of the others are looked up.
A copy of one source file is compiled and linked with the objects that are there, by the
commands that kbuild has left behind.
DIRECTORY/RELEASE gets NAME.ko, and "list" with a line "NAME|BY|WHAT" for each.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
CAIRN = 'drivers/infiniband/sw/cairn'
sys.path.insert(0, str(TOP / CAIRN / 'tests/mutants'))
import run  # noqa: E402, of that directory


def saved(path):
    """The command of a .cmd file."""
    line = path.read_text().splitlines()[0]
    return line.split(':=', 1)[1].strip()


def shell(command, cwd):
    # what kbuild exports to objtool
    done = subprocess.run(command, shell=True, cwd=cwd, text=True, check=False,
                          env=os.environ | {'SRCARCH': 'x86', 'ARCH': 'x86'},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise ValueError(done.stdout)


def build(mutant, tree, headers, out):
    """One module: compile the copy, link all, by kbuild's own commands."""
    source = pathlib.Path(mutant.file)
    where = tree / CAIRN / source.parent
    old = {'object': f'{where}/{source.stem}.o', 'source': f'{where}/{source.name}'}
    base = out / f'{mutant.name}.build'
    base.mkdir(exist_ok=True)
    copy, obj, ko = base / source.name, base / f'{source.stem}.o', out / f'{mutant.name}.ko'
    copy.write_text(mutant.source(TOP / CAIRN))
    command = saved(where / f'.{source.stem}.o.cmd')
    command = command.replace(f'{where}/.{source.stem}.o.d', f'{base}/d')
    command = command.replace(old['object'], str(obj)).replace(old['source'], str(copy))
    shell(command + ' -Wno-error' if ';' not in command else
          command.replace(';', ' -Wno-error ;', 1), headers)
    made = tree / CAIRN
    objects = (made / 'cairn.mod').read_text().split()
    objects = [str(obj) if os.path.join(headers, o) == old['object'] else o for o in objects]
    assert str(obj) in objects, old['object']
    (base / 'cairn.mod').write_text('\n'.join(objects) + '\n')
    command = saved(made / '.cairn.o.cmd').replace(f'{made}/cairn.', f'{base}/cairn.')
    shell(command, headers)
    command = saved(made / '.cairn.ko.cmd').replace(f'{made}/cairn.ko', str(ko))
    shell(command.replace(f'{made}/cairn.o', f'{base}/cairn.o'), headers)
    subprocess.run(['strip', '-g', ko], check=True)
    subprocess.run(['rm', '-rf', base], check=True)


def main(kernel, out, every=''):
    tree = TOP / 'build' / kernel
    if not (tree / 'cairn.ko').exists():
        return 0
    mutants = run.read(HERE / 'driver.mutants')[1]
    for m in mutants:
        m.source(TOP / CAIRN)
    mutants = [m for m in mutants if every or m.always]
    release = (tree / '.built').read_text().strip()
    out = pathlib.Path(out).resolve() / release
    out.mkdir(parents=True, exist_ok=True)
    stamp = out / 'list'
    lines = [f'{m.name}|{m.by}|{m.what}' for m in mutants]
    inputs = [tree / 'cairn.ko', HERE / 'driver.mutants', pathlib.Path(__file__)]
    if stamp.exists() and stamp.read_text().splitlines() == lines and \
            all(stamp.stat().st_mtime >= i.stat().st_mtime for i in inputs):
        return 0
    stamp.unlink(missing_ok=True)
    headers = f'/usr/src/linux-headers-{release}'
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as jobs:
        for _ in jobs.map(lambda m: build(m, tree, headers, out), mutants):
            pass
    stamp.write_text(''.join(line + '\n' for line in lines))
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main(*sys.argv[1:]))
    except ValueError as error:
        sys.exit(f'driver.mutants: {error}')
