#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Names, headers and sizes of the functions of the module and of the provider.

    names.py [RULE]...     check these rules (default: all)
    names.py --self-test   every rule, broken on purpose, must be noticed

noun    a static function of X.c begins with the noun X: X, a word of it, the name
        of its directory, or a short form of one of these (three letters or more).
public  cairn_*() of X.c and X.h goes on in the same way, or with the name of a struct
        or enum of X.h
word    no static function is named with one word; also in test code and its headers,
        where a row of a table of tests, KTAP(resize), may be one word
twice   no function name occurs in two files of a tree
header  X.h declares only functions that X.c defines
tree    no text refers to a document that is not in the tree
length  no function is longer than 60 lines
args    no function has more than five arguments, except where an interface wants it
local   at most 5 % of a tree's local variables are one letter other than i j k n;
        also in test code

Prints "FILE:LINE: what is wrong [RULE]", sorted by file. Needs Universal Ctags.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..'))
TREES = ['drivers/infiniband/sw/cairn', 'userspace/providers']
# test code follows some rules only: its functions are names of points
TEST_TREES = ['drivers/infiniband/sw/cairn/tests', 'tests/vm', 'scripts/bench']
TEST_RULES = ['word', 'local']
RULES = ['noun', 'public', 'word', 'twice', 'header', 'tree', 'length', 'args', 'local']
LONGEST = 60
MOST_ARGS = 5
SHORT_LOCALS = 5  # per cent
LOOP_LOCALS = 'ijkn'

# Headers that speak for their whole directory, and why.
ROOM_HEADERS = {
    'net/net.h': 'all that other rooms see of net',
    'verbs/ops.h': 'the calls to objects that compat/ops.h wraps',
    'mem/ops.h': 'the same of memory',
    'cairn/cairndv.h': 'the interface of the library, as it is installed',
}
# Headers that declare what other directories define, and why.
WINDOWS = {
    'engine/env.h': 'the window of the engine: its user defines the functions',
}
# Files whose public functions have names of another order, and why.
INTERFACES = {
    'verbs/kapi.c': 'exported to kernel consumers',
    'cairn/cairn.c': 'the noun is the prefix itself',
    'cairn/cairndv.h': 'the interface of the library, as it is installed',
}
# Functions with more arguments than others have, and why.
MANY_ARGS = {
    'advise_mr': 'ib_device_ops.advise_mr',
    'cairn_mr_reg_dmabuf': 'ib_device_ops.reg_user_mr_dmabuf',
    'cairn_mr_reg_user': 'ib_device_ops.reg_user_mr',
    'compat_reg_user_mr': 'the same of newer kernels',
    'compat_reg_user_mr_dmabuf': 'the same of newer kernels',
    'mr_rereg_user': 'ib_device_ops.rereg_user_mr',
    'peer_process_mad': 'ib_device_ops.process_mad',
    'cairn_reg_dmabuf_mr': 'verbs_context_ops.reg_dmabuf_mr',
    'cairn_rereg_mr': 'verbs_context_ops.rereg_mr',
    'qpex_wr_flush': 'ibv_qp_ex.wr_flush',
    'cairndv_wr_flush': 'like ibv_wr_flush(3)',
    'check_reg_dmabuf_mr': 'verbs_context_ops.reg_dmabuf_mr',
    'profile_reg_dmabuf_mr': 'verbs_context_ops.reg_dmabuf_mr',
    'check_rereg_mr': 'verbs_context_ops.rereg_mr',
    'fault_reg_dmabuf_mr': 'verbs_context_ops.reg_dmabuf_mr',
    'fault_rereg_mr': 'verbs_context_ops.rereg_mr',
    'profile_rereg_mr': 'verbs_context_ops.rereg_mr',
}
# Functions of test code that may have one word, as a part of the path and the name, and why.
ONE_WORD = [
    ('', 'main', 'the name that C has for it'),
    ('', 'must', 'reads as an assertion where it is used'),
    ('tests/shim/linux/', '', 'functions of the kernel'),
]
ROW = re.compile(r'\b[A-Z][A-Z_]*\((\w+)\)')    # of a table of tests

# made so that they do not find themselves
OUTSIDE = re.compile(r'\bmission[\s*]+[A-Z]\d|\bRequirements?[\s*]+[A-Z]\d|\.\./shared\b',
                     re.IGNORECASE)


def is_source(path, tests=False):
    return path.endswith(('.c', '.h')) and (tests or '/tests/' not in path)


def walk(*tops):
    """The files below tops, without products of builds."""
    for top in tops:
        for where, dirs, files in os.walk(top):
            dirs[:] = sorted(d for d in dirs if d not in ('build', '.git', '__pycache__'))
            for name in sorted(files):
                yield os.path.normpath(os.path.join(where, name))


def read_tags(files):
    """Functions, prototypes and local variables, as dictionaries."""
    run = subprocess.run(['ctags', '--options=NONE', '-f', '-', '--language-force=C',
                          '-I', 'static_assert+,_Static_assert+', '--kinds-C=flp',
                          '--fields=+neKfS', '--output-format=json', '-L', '-'],
                         input='\n'.join(files), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def nouns(path):
    """Words that functions of the file may begin with."""
    stem = os.path.splitext(os.path.basename(path))[0]
    words = {stem, os.path.basename(os.path.dirname(path)), *stem.split('_')}
    return {w[:-1] if len(w) > 3 and w.endswith('s') else w for w in words if len(w) > 1}


def begins_with_noun(name, path):
    first = name.split('_')[0]
    return any(first.startswith(noun[:4]) or (len(first) >= 3 and noun.startswith(first))
               for noun in nouns(path))


def own_types(path):
    """Names of the structs and enums that the header of path defines, without cairn_."""
    try:
        with open(os.path.splitext(path)[0] + '.h', encoding='utf-8') as file:
            return re.findall(r'^(?:struct|enum) cairn_(\w+) \{', file.read(), re.MULTILINE)
    except FileNotFoundError:
        return []


def begins_with_type(name, path):
    first = name.split('_')[0]
    return any(name == kind or name.startswith(kind + '_') or
               (len(first) >= 3 and kind.startswith(first)) for kind in own_types(path))


def speaks_for(header, path):
    """May the header declare functions that path defines?"""
    where, name = os.path.split(header)
    key = os.path.join(os.path.basename(where), name)
    return (path in (header, header[:-1] + 'c') or key in WINDOWS or
            (key in ROOM_HEADERS and os.path.dirname(path) == where))


def calls_of(path):
    """Functions that are named as the member of a struct that points to them."""
    with open(path, encoding='utf-8') as file:
        return ['cairn_' + call
                for call in re.findall(r'\.(\w+) = cairn_\1\b', file.read())]


def rows_of(path):
    """Functions that are a row of a table of tests."""
    with open(path, encoding='utf-8') as file:
        return set(ROW.findall(file.read()))


def may_be_word(tag):
    """May the function of test code have a name of one word?"""
    return (any(where in tag['path'] and name in ('', tag['name']) for where, name, _ in ONE_WORD)
            or tag['name'] in rows_of(tag['path']))


def count_args(signature):
    """The arguments of a function; those of functions that it is given do not count."""
    inner = signature[1:-1]
    while '(' in inner:
        inner = re.sub(r'\([^()]*\)', '', inner)
    return inner.count(',') + 1


class Tree:
    """The sources below one directory."""

    def __init__(self, top, tests=False):
        self.top, self.tests = top, tests
        self.files = [f for f in walk(top) if is_source(f, tests)]
        # names in capitals are macros that look like definitions
        tags = [t for t in read_tags(self.files) if not t['name'].isupper()]
        self.functions = [t for t in tags if t['kind'] == 'function']
        self.prototypes = [t for t in tags if t['kind'] == 'prototype']
        self.locals = [t for t in tags if t['kind'] == 'local']
        self.calls = {name for f in self.files for name in calls_of(f)}
        self.statics = [t for t in self.functions
                        if t['path'].endswith('.c') and t.get('file')]

    def noun(self):
        for tag in self.statics:
            if not begins_with_noun(tag['name'], tag['path']):
                yield tag, f"{tag['name']} begins with no noun of its file"

    def public(self):
        """As noun for the others. ".open = cairn_open" has the name of the call it is."""
        static = {(t['name'], t['path']) for t in self.statics}
        for tag in self.functions:
            name = re.sub(r'^(\w+_)?(to_)?cairn_', '', tag['name'])
            key = '/'.join(tag['path'].split('/')[-2:])
            if (name == tag['name'] or (tag['name'], tag['path']) in static or
                    key in INTERFACES or tag['name'] in self.calls):
                continue
            if not begins_with_noun(name, tag['path']) and not begins_with_type(name, tag['path']):
                yield tag, f"{tag['name']} goes on with no noun of its file"

    def word(self):
        headers = [t for t in self.functions if t['path'].endswith('.h')] if self.tests else []
        for tag in self.statics + headers:
            if '_' not in tag['name'].strip('_') and not (self.tests and may_be_word(tag)):
                yield tag, f"{tag['name']} is one word"

    def twice(self):
        where = collections.defaultdict(set)
        for tag in self.functions:
            where[tag['name']].add(tag['path'])
        for tag in self.functions:
            others = sorted(where[tag['name']] - {tag['path']})
            if others:
                yield tag, f"{tag['name']} is in {' '.join(others)}, too"

    def header(self):
        where = collections.defaultdict(set)
        for tag in self.functions:
            where[tag['name']].add(tag['path'])
        for tag in self.prototypes:
            path = tag['path']
            found = where[tag['name']]
            if path.endswith('.h') and not any(speaks_for(path, f) for f in found):
                yield tag, (f"{tag['name']} is defined in "
                            f"{' '.join(sorted(found)) or 'no file'}")

    def length(self):
        for tag in self.functions:
            lines = tag.get('end', tag['line']) - tag['line'] + 1
            if lines > LONGEST:
                yield tag, f"{tag['name']} has {lines} lines"

    def args(self):
        for tag in self.functions:
            n = count_args(tag['signature'])
            if n > MOST_ARGS and tag['name'] not in MANY_ARGS:
                yield tag, f"{tag['name']} has {n} arguments"

    def local(self):
        short = [t for t in self.locals
                 if len(t['name']) == 1 and t['name'] not in LOOP_LOCALS]
        if 100 * len(short) <= SHORT_LOCALS * len(self.locals):
            return
        for tag in short:
            yield tag, (f"{tag['name']} in {tag['scope']} ({len(short)} of "
                        f"{len(self.locals)} locals of {self.top} are one letter)")


def tree_references(tops):
    for path in walk(*tops):
        try:
            with open(path, encoding='utf-8') as file:
                text = file.read()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        for match in OUTSIDE.finditer(text):
            line = text.count('\n', 0, match.start()) + 1
            yield {'path': path, 'line': line}, f"'{match[0]}' is not in the tree"


def check(rules, trees=TREES, tops=('.',), test_trees=TEST_TREES):
    """Lines (path, line, text) of what is wrong."""
    wrong = []
    for top in trees:
        tree = Tree(top)
        for rule in rules:
            if rule != 'tree':
                wrong += [(t['path'], t['line'], f'{text} [{rule}]')
                          for t, text in getattr(tree, rule)()]
    for top in test_trees:
        tree = Tree(top, tests=True)
        for rule in set(rules) & set(TEST_RULES):
            wrong += [(t['path'], t['line'], f'{text} [{rule}]')
                      for t, text in getattr(tree, rule)()]
    if 'tree' in rules:
        wrong += [(t['path'], t['line'], f'{text} [tree]') for t, text in tree_references(tops)]
    return sorted(wrong)


GOOD = {
    'engine/gap.c': 'static int gap_open(void)\n{\n\tint i = 0, first = 0;\n\n'
                    '\treturn i + first;\n}\n'
                    'int cairn_gap(void)\n{\n\treturn gap_open();\n}\n',
    'engine/gap.h': 'int cairn_gap(void);\nstatic inline int gap_of(int x) { return x; }\n',
    'engine/requester.c': 'static int req_run(void)\n{\n\treturn 0;\n}\n'
                          'static int engine_stop(void)\n{\n\treturn req_run();\n}\n',
    'engine/env.h': 'void cairn_env_emit(void);\n',
    'lane/env.c': 'void cairn_env_emit(void)\n{\n}\n',
    'verbs/ops.h': 'int cairn_create_qp(void);\n',
    'verbs/qp.h': 'struct cairn_ring {\n\tint i;\n};\n',
    'verbs/qp.c': 'int cairn_create_qp(void)\n{\n\treturn 0;\n}\n'
                  'int cairn_ring_free(void)\n{\n\treturn 0;\n}\n'
                  'struct ops qp_ops = {\n\t.create_qp = cairn_create_qp,\n};\n'
                  'static int UVERBS_HANDLER(X)(int a)\n{\n\treturn a;\n}\n'
                  'static int qp_make(void)\n{\n\treturn 0;\n}\n',
    'tests/ring_test.c': 'static void empty(void)\n{\n}\n'
                         'static const struct test tests[] = { KTAP(empty) };\n'
                         'int main(void)\n{\n\tmust(0);\n}\n',
    'tests/shim/linux/bug.h': 'static inline int fls(int x)\n{\n\treturn x;\n}\n',
    'verbs/memory_regions.c': 'static int region_add(void)\n{\n\treturn 0;\n}\n',
    'mem/mr.c': 'static int mr_rereg_user(int a, int b, int c, int d, int e, int f)\n'
                '{\n\treturn 0;\n}\n'
                'static int mr_walk(int a, int b, int c, int d, int (*fn)(int a, int b))\n'
                '{\n\treturn 0;\n}\n',
}
FOREIGN = 'mission ' + 'Q5'
# rule, file, text: one thing that is wrong
BROKEN = [
    ('noun', 'engine/gap.c', 'static int advance_una(void)\n{\n\treturn 0;\n}\n'),
    ('noun', 'engine/requester.c', 'static int re_run(void)\n{\n\treturn 0;\n}\n'),
    ('noun', 'verbs/qp.c', 'static __always_inline struct x *\nready_x(void)\n{\n}\n'),
    ('public', 'engine/gap.c', 'int cairn_una(void)\n{\n\treturn 0;\n}\n'),
    ('public', 'engine/gap.h', 'static inline int cairn_una(void)\n{\n\treturn 0;\n}\n'),
    ('public', 'engine/gap.c', 'int cairn_ring_get(void)\n{\n\treturn 0;\n}\n'),
    ('word', 'engine/gap.c', 'static int gap(void)\n{\n\treturn 0;\n}\n'),
    ('twice', 'verbs/gap.c', GOOD['engine/gap.c']),
    ('twice', 'verbs/gap.c', 'int cairn_gap(void)\n{\n\treturn 0;\n}\n'),
    ('header', 'engine/gap.h', 'int cairn_qp(void);\n'),
    ('header', 'engine/requester.h', 'int cairn_gap(void);\n'),
    ('header', 'verbs/env.h', 'int cairn_gap(void);\n'),
    ('header', 'verbs/ops.h', 'int cairn_gap(void);\n'),
    ('header', 'engine/env.h', 'int cairn_env_nowhere(void);\n'),
    ('tree', 'engine/gap.h', f'/* because of {FOREIGN} */\n'),
    ('tree', 'notes.rst', FOREIGN.replace(' ', '\n * ')),
    ('length', 'engine/gap.c', 'int cairn_gap_long(void)\n{\n' + '\tf();\n' * 58 + '}\n'),
    ('args', 'engine/gap.c',
     'int cairn_gap_all(int a, int b, int c, int d, int e, int f)\n{\n\treturn 0;\n}\n'),
    ('args', 'engine/gap.h',
     'static inline int cairn_gap_all(int a, int b, int c, int d,\n'
     '\t\t\t\tint e, void (*f)(int a))\n{\n\treturn 0;\n}\n'),
    ('word', 'tests/gap_test.c', 'static int gap(void)\n{\n\treturn 0;\n}\n'),
    ('word', 'tests/gap.h', 'static inline int gap(void)\n{\n\treturn 0;\n}\n'),
    ('local', 'tests/gap_test.c', 'static void gap_q(void)\n{\n\tint q = 0;\n\n\tf(q);\n}\n'),
    ('local', 'engine/gap.c', 'int cairn_gap_q(void)\n{\n\tint q = 0;\n\n\treturn q;\n}\n'),
]


def self_test():
    bad = 0
    for rule, name, text in [('', 'engine/other.c', '')] + BROKEN:
        with tempfile.TemporaryDirectory() as top:
            tree = os.path.join(top, 'cairn')
            files = dict(GOOD)
            files[name] = files.get(name, '') + text if rule != 'twice' else text
            for path, content in files.items():
                path = os.path.join(tree, path)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, 'w', encoding='utf-8') as file:
                    file.write(content)
            wrong = check(RULES, [tree], [tree], [tree + '/tests'])
        if {re.search(r'\[(\w+)\]$', w[2])[1] for w in wrong} != ({rule} if rule else set()):
            print(f'names.py: {rule or "good sources"}, {name}: {wrong}')
            bad = 1
    return bad


def main(args):
    os.chdir(TOP)
    if args == ['--self-test']:
        return self_test()
    unknown = set(args) - set(RULES)
    if unknown:
        sys.exit(__doc__)
    wrong = check(args or RULES)
    for path, line, text in wrong:
        print(f'{path}:{line}: {text}')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
