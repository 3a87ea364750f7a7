#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""
References of documents exist.

- A file that README.md, CONTRIBUTING.md or a page of Documentation names is in the tree.
- A label of Documentation/origins.rst that code or a page refers to is there.
- A manual page of ours that a page or a file of userspace names is there.
- Documentation/install.rst names the packages that building needs.
- The structures of manual pages are those of cairndv.h.
- The comments of the code that CONTRIBUTING.md praises are there.
- Pages of Documentation are valid reStructuredText: a table that is not is no table.

  scripts/check/docs.py [--self-test]
"""

import glob
import io
import os
import re
import subprocess
import sys

import docutils.core
import docutils.nodes
import docutils.parsers.rst.roles

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODULE = 'drivers/infiniband/sw/cairn'
# where a name without a leading directory may lie
ROOTS = ('', MODULE, f'{MODULE}/engine', 'include', 'include/uapi/rdma', 'userspace',
         'userspace/providers', 'userspace/providers/cairn', 'scripts/wireshark', 'Documentation',
         'tests/vm', 'tests/vm/src', 'userspace/tests', f'{MODULE}/tests', f'{MODULE}/tests/mutants')
NAMED = re.compile(r'`([\w./*-]+(?:\.(?:c|h|rst|sh|py|lua|json|map|mutants)|/))`')
# installed, made by the build, or a pattern for the reader
ELSEWHERE = re.compile(r'^(?:/|\.\./|build/|infiniband/|rdma/cairn-abi\.h$)|NAME|NOUN|\bhello|_hello_|^X\.')
REFERRED = re.compile(r'origins\.rst[`,\s*]+((?:[PQSEF]\d+(?:(?:,| and| to)\s+)?)+)')
# in roff, in reStructuredText and in plain text
MANUAL = re.compile(r'\b(cairn(?:\\?-|\w)*)`* ?\(([1-8])\)')
LABEL = re.compile(r'_`([PQSEF]\d+)`')


def is_there(name):
    return any(glob.glob(os.path.join(TOP, root, name)) for root in ROOTS)


def missing_files(text):
    """[(line, name)] of what a page names and the tree lacks."""
    return [(number, name) for number, line in enumerate(text.splitlines(), 1)
            for name in NAMED.findall(line)
            if not ELSEWHERE.search(name) and not is_there(name)]


def missing_labels(text, labels):
    """Labels of origins.rst that a text refers to and that are not there."""
    found = (label for refs in REFERRED.findall(text)
             for label in re.findall(r'[PQSEF]\d+', refs))
    return sorted(set(found) - labels)


def missing_manuals(text):
    """Manual pages that a text refers to and that are not there."""
    found = {f'{name}.{section}'.replace('\\', '') for name, section in MANUAL.findall(text)}
    return sorted(page for page in found
                  if not os.path.exists(os.path.join(TOP, 'userspace', 'man', page)))


def missing_packages(control, page):
    """Packages that building needs (debian/control) and that the page does not name."""
    needed = re.search(r'Build-Depends:((?:[^\n]|\n )*)', control)[1]
    names = {'dh-sequence-dkms': 'dh-dkms', 'dh-sequence-python3': 'dh-python',
             'debhelper-compat': 'debhelper', 'python3': 'debhelper'}
    found = [re.split(r'[ :(]', one.strip())[0] for one in needed.split(',')]
    return [name for name in (names.get(one, one) for one in found) if f'``{name}``' not in page]


def missing_members(header, page):
    """Members of the structures that a manual page has otherwise than the header."""
    def structures(text):
        text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
        return {name: [' '.join(member.split()) for member in members.split(';')]
                for name, members in re.findall(r'struct (cairndv_\w+) \{(.*?)\};', text, re.S)}
    known = structures(header)
    return sorted(name for name, members in structures(page.replace('\\-', '-')).items()
                  if '...' not in members and members != known.get(name))


def words_of(text):
    """The words of a text, without the borders of comments and quotations."""
    return ' '.join(re.sub(r'(?m)/\*|\*/|^\s*\*|^\s+', ' ', text).split())


def missing_comments(page, code):
    """Comments that the page quotes from the code, and the code does not have."""
    quotes = page.partition('Good comments of this code:')[2].partition('\n`')[0]
    return [quote for quote in map(words_of, re.findall(r'"([^"]+)"', quotes))
            if quote not in code]


def rst_reference(_name, _rawtext, text, *_rest, **_options):
    """The role "ref" of Sphinx."""
    return [docutils.nodes.Text(text)], []


def rst_faults(text):
    """The warnings of docutils about a page, a line each."""
    faults = io.StringIO()
    docutils.parsers.rst.roles.register_local_role('ref', rst_reference)
    docutils.core.publish_doctree(text, settings_overrides={
        'warning_stream': faults, 'report_level': 2, 'halt_level': 5,
        'file_insertion_enabled': False})
    return [f'{number}: {what}' for number, what in
            re.findall(r'^<string>:(\d+): \(\w+/\d\) (.*)', faults.getvalue(), re.M)]


def read(path):
    with open(os.path.join(TOP, path), encoding='utf-8') as f:
        return f.read()


def check():
    bad = []
    pages = ['README.md', 'CONTRIBUTING.md'] + [os.path.relpath(p, TOP) for p in
                             sorted(glob.glob(os.path.join(TOP, 'Documentation', '*.rst')))]
    for page in pages:
        bad += [f'{page}:{number}: {name} is not there'
                for number, name in missing_files(read(page))]
    for path in sorted(glob.glob(os.path.join(TOP, 'Documentation', '**', '*.rst'),
                                 recursive=True)):
        bad += [f'{os.path.relpath(path, TOP)}:{fault}' for fault in rst_faults(read(path))]
    labels = set(LABEL.findall(read('Documentation/origins.rst')))
    files = subprocess.run(['git', '-C', TOP, 'grep', '-lE', r'origins\.rst'],
                           capture_output=True, text=True, check=False).stdout.split()
    for path in files:
        if not path.endswith('docs.py'):
            bad += [f'{path}: origins.rst has no {label}'
                    for label in missing_labels(read(path), labels)]
    files = subprocess.run(['git', '-C', TOP, 'ls-files', 'userspace', 'include', *pages],
                           capture_output=True, text=True, check=False).stdout.split()
    for path in files:
        bad += [f'{path}: userspace/man has no {page}' for page in missing_manuals(read(path))]
    bad += [f'Documentation/install.rst: building needs {name} (debian/control)' for name in
            missing_packages(read('debian/control'), read('Documentation/install.rst'))]
    files = subprocess.run(['git', '-C', TOP, 'ls-files', f'{MODULE}/*.[ch]'],
                           capture_output=True, text=True, check=False).stdout.split()
    code = words_of(''.join(read(path) for path in files))
    bad += [f'CONTRIBUTING.md: {MODULE} has no comment "{quote}"'
            for quote in missing_comments(read('CONTRIBUTING.md'), code)]
    header = read('userspace/providers/cairn/cairndv.h')
    for path in sorted(glob.glob(os.path.join(TOP, 'userspace', 'man', '*.[37]'))):
        bad += [f'{os.path.relpath(path, TOP)}: cairndv.h has another struct {name}'
                for name in missing_members(header, read(path))]
    return bad


def self_test():
    assert missing_files('see ``engine/env.h`` and `README.md`') == []
    assert missing_files('a\nsee ``engine/gone.c``') == [(2, 'engine/gone.c')]
    assert missing_files('``tests/vm/NAME.sh``, ``infiniband/cairndv.h``') == []
    assert missing_labels('origins.rst, Q4) and (origins.rst,\n * E1, E2)', {'Q4', 'E1', 'E2'}) == []
    assert missing_labels('(``Documentation/origins.rst``,\nF5)', {'F5'}) == []
    assert missing_labels('origins.rst, P9', {'P1'}) == ['P9']
    assert missing_manuals('.BR cairn\\-link (8), cairn_log(1), ``cairndv`` (7), cairn_cq_poll()') == []
    assert missing_manuals('.BR cairn_fault (1),') == ['cairn_fault.1']
    assert missing_packages('Build-Depends: a, b (= 1),\n c\nX: d', '``a`` and ``c``') == ['b']
    assert missing_members('struct cairndv_x {\n int a; /* ; */\n};', 'struct cairndv_x {\n int a;\n};') == []
    assert missing_members('struct cairndv_x { int a; };', 'struct cairndv_x { int b; };') == ['cairndv_x']
    assert missing_labels('origins.rst, P1 to P9', {'P1'}) == ['P9']
    quoted = 'Good comments of this code:\n\n* "One\n  two."\n* "Three."\n\n`x` says "no".'
    assert missing_comments(quoted, words_of('\t/* One\n\t * two. */')) == ['Three.']
    assert rst_faults('==  ==\na   b\n==  ==\naa  b\n==  ==\n\n:ref:`x`, ``a``\n') == []
    assert [fault.split('.')[0] for fault in
            rst_faults('==  ==\na   b\n==  ==\naaa b\n==  ==\n')] == ['4: Malformed table']
    assert len(rst_faults('text ``a\n')) == 1


def main():
    if sys.argv[1:] == ['--self-test']:
        self_test()
        return 0
    bad = check()
    print('\n'.join(bad))
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main())
