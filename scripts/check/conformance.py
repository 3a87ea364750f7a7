#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""
Documentation/conformance.rst comes from the tests: STATEMENT() and DEVIATION() of
tests/vm/src/conform_*.c, and the rows of tests/vm/conform-elsewhere.txt.

  scripts/check/conformance.py            check that it does
  scripts/check/conformance.py --write    make it so
  scripts/check/conformance.py --self-test
"""

import glob
import os
import re
import sys
import textwrap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(TOP, 'Documentation/conformance.rst')
ELSEWHERE = os.path.join(TOP, 'tests/vm/conform-elsewhere.txt')
TEXT = r'"((?:[^"\\]|\\.)*)"'
MACRO = re.compile(rf'^(STATEMENT|DEVIATION)\((\w+),\s*{TEXT},\s*{TEXT}(?:,\s*{TEXT})?\)', re.M)
PLACES = ('tests/vm/src/{}.c', 'drivers/infiniband/sw/cairn/tests/{}.c')

HEAD = '''.. SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
.. Made by scripts/check/conformance.py --write from the tests that it names.

===========
Conformance
===========

Statements of the InfiniBand specification (IBTA volume 1, by chapter) and of
the man pages of libibverbs and librdmacm, in our own words. Each has a test, which fails
when the statement no longer holds. Programs of ``tests/vm/src`` make both ends by the
public interface; those of ``drivers/infiniband/sw/cairn/tests`` run the engine on the host,
where a peer can misbehave.

{} statements, {} of them with a deviation.

Deviations
==========

'''


class Row:
    def __init__(self, source, text, test, does=None):
        self.source, self.text, self.test, self.does = source, text, test, does


def rows_of_program(name, code):
    """The statements of one source file; an error if a macro is not understood."""
    found = [Row(m[3], m[4], f'{name}: {m[2]}', m[5]) for m in MACRO.finditer(code)]
    if len(found) != len(re.findall(r'^(?:STATEMENT|DEVIATION)\(', code, re.M)):
        raise ValueError(f'{name}: a statement is not understood')
    for m in MACRO.finditer(code):
        if (m[1] == 'DEVIATION') != (m[5] is not None):
            raise ValueError(f'{name}: {m[2]}: texts of a {m[1]}')
    return found


def rows_of_list(text):
    rows = []
    for line in text.splitlines():
        if line and not line.startswith('#'):
            parts = [part.strip() for part in line.split('|')]
            if len(parts) not in (3, 4):
                raise ValueError(f'not understood: {line}')
            rows.append(Row(*parts))
    return rows


def has_test(test):
    name, function = test.split(': ')
    for place in PLACES:
        path = os.path.join(TOP, place.format(name))
        if os.path.exists(path):
            with open(path, encoding='utf-8') as file:
                return re.search(rf'^static void {function}\(void\)', file.read(), re.M)
    return None


def order(row):
    """Chapters in order, then man pages."""
    numbers = re.match(r'IBTA (A?)([\d.]+)', row.source)
    if not numbers:
        return (2, [], row.source)
    return (bool(numbers[1]), [int(n) for n in numbers[2].split('.')], row.source)


def collect():
    rows = []
    for path in sorted(glob.glob(os.path.join(TOP, 'tests/vm/src/conform_*.c'))):
        with open(path, encoding='utf-8') as file:
            rows += rows_of_program(os.path.basename(path)[:-2], file.read())
    with open(ELSEWHERE, encoding='utf-8') as file:
        listed = rows_of_list(file.read())
    missing = [row.test for row in listed if not has_test(row.test)]
    if missing:
        raise ValueError('no such test: ' + ', '.join(missing))
    return sorted(rows + listed, key=order)


def wrap(text, first, rest):
    return textwrap.fill(text, 90, initial_indent=first, subsequent_indent=rest,
                         break_long_words=False, break_on_hyphens=False)


def page(rows):
    deviations = [row for row in rows if row.does]
    out = [HEAD.format(len(rows), len(deviations))]
    for row in deviations:
        out.append(wrap(f'* {row.source}: {row.text} **cairn:** {row.does} (``{row.test}``)',
                        '', '  ') + '\n')
    out.append('\nAll statements\n==============\n\n.. list-table::\n'
               '   :header-rows: 1\n   :widths: 22 48 30\n\n'
               '   * - Source\n     - Statement\n     - Test\n')
    for row in rows:
        out.append(wrap(row.source, '   * - ', '       ') + '\n' +
                   wrap(row.text + (' (Deviation, see above.)' if row.does else ''),
                        '     - ', '       ') + '\n' +
                   f'     - ``{row.test}``\n')
    return ''.join(out)


def self_test():
    code = 'STATEMENT(one, "IBTA 9.7",\n\t  "It \\"is\\".")\n{\n}\n' \
           'DEVIATION(two, "IBTA 10.1", "A.",\n\t  "B.")\n{\n}\n'
    rows = rows_of_program('conform_x', code)
    assert [(r.source, r.test, r.does) for r in rows] == \
        [('IBTA 9.7', 'conform_x: one', None), ('IBTA 10.1', 'conform_x: two', 'B.')]
    for bad in ('STATEMENT(one, "IBTA 9.7")\n', 'STATEMENT(one, "a", "b", "c")\n',
                'DEVIATION(one, "a", "b")\n'):
        try:
            rows_of_program('conform_x', bad)
        except ValueError:
            continue
        raise AssertionError(bad)
    assert order(Row('IBTA 9.10', '', '')) > order(Row('IBTA 9.9.1', '', ''))
    assert order(Row('ibv_x(3)', '', '')) > order(Row('IBTA A14', '', ''))
    assert has_test('engine_access_test: zero_length_needs_no_right')
    assert not has_test('engine_access_test: nothing')
    assert '* IBTA 10.1: A. **cairn:** B.' in page(rows)


def main():
    if '--self-test' in sys.argv:
        self_test()
        return 0
    try:
        made = page(collect())
    except ValueError as error:
        print(error)
        return 1
    if '--write' in sys.argv:
        with open(PAGE, 'w', encoding='utf-8') as file:
            file.write(made)
        return 0
    with open(PAGE, encoding='utf-8') as file:
        if file.read() == made:
            return 0
    print('Documentation/conformance.rst is not current: scripts/check/conformance.py --write')
    return 1


if __name__ == '__main__':
    sys.exit(main())
