#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The direction of the layers of the module.

    layers.py               check the sources, and the objects in build/ if there are any
    layers.py --self-test   every rule, broken on purpose, must be noticed

wire <- engine <- {persist, queue, mem, device, fault} <- lane <- {verbs, net}

plain    wire/, engine/ and queue/qicache.[ch] are plain C: they include each
         other's headers in that direction, the kernel/user ABI, and headers of
         the kernel that are only about C itself; they name nothing of sk_buffs,
         ib_core or the scheduler
object   their objects need nothing but each other, cairn_env_*() of engine/env.h
         and what the compiler itself calls
room     a directory of the module is a room here. The other rooms include their own
         headers and those of rooms below them;
         verbs/ and net/ do not include each other's. ROOMS has what is allowed
         besides. Files that join rooms (main.c, env.c) lie beside the rooms.
version  kernel versions are compared in compat/ only
size     the faults on demand have at most MOST_FAULT_LINES lines: their room, and what
         net/ and verbs/ have for them

Prints "FILE:LINE: what (rule)".
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..'))
MODULE = 'drivers/infiniband/sw/cairn'

PLAIN = (r'linux/(align|array_size|atomic|bitmap|bitops|bits|build_bug|cache|compiler'
         r'|container_of|errno|kernel|limits|log2|math|math64|minmax|nospec|overflow'
         r'|prefetch|stddef|string|types|unaligned)\.h'
         r'|asm/(byteorder|unaligned)\.h|rdma/cairn-abi\.h')
PLAIN_INCLUDES = {
    'wire': rf'wire/\w+\.h|{PLAIN}',
    'engine': rf'(wire|engine)/\w+\.h|{PLAIN}',
    'qicache': rf'(wire|engine)/\w+\.h|queue/qicache\.h|{PLAIN}',
}
NOT_PLAIN = re.compile(
    r'\b(struct sk_buff|sk_buff|skb_[a-z_]+|ib_[a-z_]+|IB_[A-Z_]+|rdma_[a-z_]+|jiffies'
    r'|k[mzc]*alloc|kfree|spin_lock[a-z_]*|mutex_[a-z]+|rcu_[a-z_]+|printk|pr_[a-z]+)\b')

BELOW = 'wire|engine'
ABOVE = f'{BELOW}|persist|queue|mem|device|fault|lane|compat'
# the headers of other rooms that a room may include, without ".h"
ROOMS = {
    'persist': rf'({BELOW}|persist)/\w+',
    'device': rf'({BELOW}|device|compat)/\w+|lane/(exec|lane)',
    'fault': rf'({BELOW}|device|fault|compat)/\w+',
    'queue': rf'({BELOW}|persist|device|queue|compat)/\w+|lane/(exec|lane|lazy)',
    'mem': rf'({BELOW}|persist|device|queue|mem|compat)/\w+'
           r'|verbs/(host_flush|limits|udata|verbs)',
    'lane': rf'({BELOW}|device|fault|lane|compat)/\w+',
    'verbs': rf'({ABOVE}|verbs)/\w+',
    'net': rf'({ABOVE}|net)/\w+',
}
# fortified string functions warn and panic by themselves
COMPILER = re.compile(
    r'mem(cpy|set|cmp|move)|__fentry__|__x86_(return|indirect)_thunk\w*|__stack_chk_fail'
    r'|__SCT__WARN_trap|__ref_stack_chk_guard|__ubsan_handle_\w+'
    r'|__warn_printk|__?fortify_panic|__fortify_report|__sw_hweight(32|64)')

FAULT_SOURCES = ('fault/*.[ch]', 'net/faulty.[ch]', 'verbs/fault.[ch]')
MOST_FAULT_LINES = 1200

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]*)[>"]')
# a kernel header <net/...> has the name of a room
OWN = re.compile(r'(wire|engine|persist|queue|mem|device|fault|lane|verbs)/')
VERSION = re.compile(r'\b(LINUX_VERSION_CODE|KERNEL_VERSION)\b')
# strings and characters too, as they may hold what looks like a comment
COMMENT = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.S)


def code_of(text):
    """The text with its comments blanked, line numbers kept."""
    def blank(found):
        if found[0][0] in '"\'':
            return found[0]
        return ' ' + '\n' * found[0].count('\n')
    return COMMENT.sub(blank, text)


def source_files(*rooms):
    for room in rooms:
        yield from sorted(glob.glob(f'{MODULE}/{room}/**/*.[ch]', recursive=True))


def source_faults(path, room):
    """The faults in one file of a room, or of none (None)."""
    with open(path) as file:
        text = file.read()
    plain = PLAIN_INCLUDES.get('qicache' if re.search(r'queue/qicache\.[ch]$', path) else room)
    for number, line in enumerate(code_of(text).split('\n'), 1):
        found = INCLUDE.match(line)
        if found:
            header = found[2]
            if plain and not re.fullmatch(plain, header):
                yield f'{path}:{number}: {header} (plain)'
            own = found[1] == '"' or OWN.match(header)
            if room in ROOMS and own and not re.fullmatch(f'({ROOMS[room]})\\.h', header):
                yield f'{path}:{number}: {header} ({room}: room)'
        if plain and NOT_PLAIN.search(line):
            yield f'{path}:{number}: {line.strip()} (plain)'
        if room != 'compat' and VERSION.search(line):
            yield f'{path}:{number}: {line.strip()} (version)'


def size_faults():
    """The faults on demand, if they are too long."""
    lines = 0
    for pattern in FAULT_SOURCES:
        for path in glob.glob(f'{MODULE}/{pattern}'):
            with open(path) as file:
                lines += sum(1 for _ in file)
    if lines > MOST_FAULT_LINES:
        yield f'{MODULE}/fault: {lines} lines with those of net/ and verbs/ (size)'


def sources_faults():
    rooms = ('wire', 'engine', *ROOMS)
    for room in rooms:
        for path in source_files(room):
            yield from source_faults(path, room)
    for path in sorted(glob.glob('include/**/*.[ch]', recursive=True) +
                       glob.glob(f'{MODULE}/*.[ch]')):
        yield from source_faults(path, None)
    yield from size_faults()


def symbols(which, objects):
    """The names that `nm WHICH` tells of the objects, by object."""
    names = {path: set() for path in objects}
    if not objects:
        return names
    output = subprocess.run(['nm', '-A', which, *objects], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=False).stdout
    for line in output.splitlines():
        path, _, rest = line.partition(':')
        names[path].add(rest.split()[-1])
    return names


def objects_faults(build):
    """The objects below BUILD/MODULE."""
    wire = glob.glob(f'{build}/{MODULE}/wire/*.o')
    engine = glob.glob(f'{build}/{MODULE}/engine/*.o')
    cache = glob.glob(f'{build}/{MODULE}/queue/qicache.o')
    if not wire:
        return
    wire_names = set().union(*symbols('--defined-only', wire).values())
    names = wire_names.union(*symbols('--defined-only', engine).values())
    for objects, known, window in ((wire, wire_names, 'cairn_no_window'),
                                   (engine + cache, names, r'cairn_env_\w+')):
        for path, needed in sorted(symbols('-u', objects).items()):
            for name in sorted(needed - known):
                if not COMPILER.fullmatch(name) and not re.fullmatch(window, name):
                    yield f'{os.path.relpath(path, TOP)}: {name} (object)'


GOOD = {
    'wire/good.c': '#include <linux/types.h>\n#include "wire/hdr.h"\n'
                   '/* no sk_buff, ib_qp or KERNEL_VERSION here */\n',
    'engine/good.h': '#include <rdma/cairn-abi.h>\n#include "wire/hdr.h"\n'
                     '#include "engine/env.h"\n',
    'verbs/good.c': '#include <net/ip.h>\n#include <rdma/ib_verbs.h>\n#include "engine/env.h"\n'
                    '#include "device/nic.h"\n#include "queue/qinfo.h"\n'
                    '#include "compat/x.h"\n',
    'net/good.c': '#include <net/ip.h>\n#include <rdma/ib_verbs.h>\n#include "device/nic.h"\n',
    'lane/good.h': '#include "engine/qp.h"\n#include "lane/exec.h"\n#include "compat/x.h"\n'
                   '#include "device/path.h"\n',
    'queue/qicache.c': '#include "engine/qp.h"\n#include "queue/qicache.h"\n'
                       '#include <linux/bits.h>\n',
    'fault/good.c': '\n' * 600,
    'net/faulty.c': '\n' * 597,
    'compat/good.h': '#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)\n',
}
BAD = (
    ('wire/x.c', '#include "engine/qp.h"'),
    ('wire/x.h', '#include <linux/skbuff.h>'),
    ('engine/x.c', ' #  include <linux/spinlock.h>'),
    ('engine/x.c', '#include "verbs/verbs.h"'),
    ('engine/x.c', 'void f(struct sk_buff *skb);'),
    ('engine/x.h', 'struct ib_qp;'),
    ('wire/x.c', 'int f(void) { return jiffies; }'),
    ('wire/x.c', '/* a\n comment */ int f(void) { return jiffies; }'),
    ('verbs/x.c', '#include "net/net.h"'),
    ('net/x.c', '#include "verbs/verbs.h"'),
    ('verbs/x.c', '#include "../net/net.h"'),
    ('net/x.c', '#include <verbs/verbs.h>'),
    ('lane/x.h', '#include "verbs/verbs.h"'),
    ('lane/x.c', '#include "queue/qinfo.h"'),
    ('lane/x.c', '#include "persist/domain.h"'),
    ('persist/x.c', '#include "lane/exec.h"'),
    ('persist/x.c', '#include "net/net.h"'),
    ('device/x.c', '#include "queue/qinfo.h"'),
    ('device/x.h', '#include "mem/mr.h"'),
    ('fault/x.c', '#include "lane/exec.h"'),
    ('fault/x.c', '#include "net/net.h"'),
    ('mem/x.c', '#include "lane/exec.h"'),
    ('mem/x.h', '#include "net/net.h"'),
    ('queue/x.c', '#include "mem/mr.h"'),
    ('queue/x.c', '#include "verbs/verbs.h"'),
    ('queue/x.h', '#include "net/net.h"'),
    ('net/x.c', '#include "checksum.h"'),
    ('queue/qicache.h', '#include "queue/queue.h"'),
    ('queue/qicache.h', '#include <linux/mutex.h>'),
    ('queue/qicache.h', 'int f(void) { return jiffies; }'),
    ('net/x.c', '#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)'),
    ('x.c', '#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)'),
    ('fault/x.h', '/*\n */'),
    ('net/faulty.h', '/*\n */'),
    ('verbs/fault.c', '/*\n */'),
)
# name, is it wrong, object, its code; wire_x, engine_x and queue_x are defined, too
OBJECTS = (
    ('known symbols', False, 'engine/e',
     'extern int wire_x; void e(void) { cairn_env_emit(wire_x); __fentry__(); }'),
    ('kmalloc', True, 'engine/e', 'void e(void) { __kmalloc(3); }'),
    ('engine needs queue', True, 'engine/e', 'extern int queue_x; int e(void) { return queue_x; }'),
    ('wire needs engine', True, 'wire/x', 'extern int engine_x; int e(void) { return engine_x; }'),
    ('wire needs the window', True, 'wire/x', 'void e(void) { cairn_env_emit(0); }'),
    ('qicache needs engine', False, 'queue/qicache',
     'extern int engine_x; int e(void) { return engine_x; }'),
    ('qicache needs queue', True, 'queue/qicache',
     'extern int queue_x; int e(void) { return queue_x; }'),
)


def self_test_tree(directory, files):
    for path, text in files.items():
        path = f'{directory}/{MODULE}/{path}'
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as file:
            file.write(text + '\n')
    os.chdir(directory)


def self_test_object(directory, path, text):
    path = f'{directory}/{MODULE}/{path}.o'
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run(['gcc', '-w', '-c', '-x', 'c', '-o', path, '-'], input=text, text=True,
                   check=True)


def self_test():
    wrong = []

    with tempfile.TemporaryDirectory() as directory:
        self_test_tree(directory, GOOD)
        wrong += [f'complains of a good source: {fault}' for fault in sources_faults()]
    for path, text in BAD:
        with tempfile.TemporaryDirectory() as directory:
            self_test_tree(directory, {**GOOD, path: text})
            if not list(sources_faults()):
                wrong.append(f'not noticed: {path}: {text}')
    for what, is_wrong, path, text in OBJECTS:
        with tempfile.TemporaryDirectory() as directory:
            self_test_object(directory, 'wire/w', 'int wire_x; void w(void) { __fentry__(); }')
            self_test_object(directory, 'engine/known', 'int engine_x;')
            self_test_object(directory, 'queue/queue', 'int queue_x;')
            self_test_object(directory, path, text)
            if bool(list(objects_faults(directory))) != is_wrong:
                wrong.append(f'{what}: {"good" if is_wrong else "bad"}')
    os.chdir(TOP)
    return wrong


def main():
    if sys.argv[1:] == ['--self-test']:
        faults = [f'layers.py: {what}' for what in self_test()]
    else:
        os.chdir(TOP)
        faults = list(sources_faults())
        # not the builds with sanitizers
        for build in sorted(glob.glob(f'{TOP}/build/[0-9]*')):
            faults += objects_faults(build)
    for fault in faults:
        print(fault)
    return bool(faults)


if __name__ == '__main__':
    sys.exit(main())
