#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Plain English in comments, docstrings, messages and documents.

    language.py [PATH]...       check these files or directories
                                (default: those of CLEAN)
    language.py --all           check everything, also what is not in CLEAN
    language.py --figures       one line for each directory
    language.py --self-test     every rule, broken on purpose, must be noticed

word      code is not a person: no nobody, somebody, anybody, who, whoever, whom
bare      no sentence begins with a bare Of, What, Those, By or Who; no comment
          with a bare To
riddle    no phrase of RIDDLES: each says something else than it means
letter    no one-letter variable in a comment (`q->lock`)
variable  a comment `x->y` or `x.y()` names an x that the function has; outside
          functions, an x that the file has
file      a file of the module that a text names (net/rx.c) is there
name      a cairn_* name in a comment of C occurs in the code
return    kernel-doc has one form: "Return:"
long      no sentence is longer than 30 words

Prints "FILE:LINE: what is wrong [RULE]", sorted by file.
"""
import ast
import collections
import functools
import io
import os
import re
import subprocess
import sys
import tempfile
import tokenize

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..'))
MODULE = 'drivers/infiniband/sw/cairn'
LONGEST = 30
# Files and directories that follow every rule. A directory joins when it is
# rewritten; none leaves.
CLEAN = [
    'Makefile',
    f'{MODULE}/Kbuild',
    f'{MODULE}/checksum.c',
    f'{MODULE}/checksum.h',
    f'{MODULE}/compat',
    f'{MODULE}/device',
    f'{MODULE}/engine',
    f'{MODULE}/env.c',
    f'{MODULE}/lane',
    f'{MODULE}/main.c',
    f'{MODULE}/mem',
    f'{MODULE}/net',
    f'{MODULE}/persist',
    f'{MODULE}/queue',
    f'{MODULE}/tests',
    f'{MODULE}/verbs',
    f'{MODULE}/wire',
    'scripts',
    'userspace',
    'README.md',
    'CONTRIBUTING.md',
    'Documentation/performance',
    'Documentation/architecture.rst',
    'Documentation/containers.rst',
    'Documentation/counters.rst',
    'Documentation/features.rst',
    'Documentation/install.rst',
    'Documentation/memory-release.rst',
    'Documentation/origins.rst',
    'Documentation/performance.rst',
    'Documentation/persistence.rst',
    'Documentation/python.rst',
    'Documentation/queue-info.rst',
    'Documentation/rate-limit.rst',
    'Documentation/results.rst',
    'Documentation/security.rst',
    'Documentation/systems.rst',
    'Documentation/testing.rst',
    'Documentation/tracing.rst',
    'Documentation/wire.rst',
    'include',
    'tests',
]
# A rule, the end of a path ('' is every file), what the sentence contains, and
# why it is right there.
EXCEPTIONS = [
    ('word', '.rst', r'\b(?:user|admin|administrator|person|people|reader|developer|author|operator|'
     r'root|attacker|anyone|someone)s?,? (?:\w+ )?who(?:m)?\b', 'a person'),
    ('word', 'README.md', r'\b(?:user|person|people|reader|developer)s? who\b', 'a person'),
    ('word', 'CONTRIBUTING.md', r'', 'quotes bad examples'),
    ('bare', 'CONTRIBUTING.md', r'', 'quotes bad examples'),
    ('riddle', 'CONTRIBUTING.md', r'', 'quotes bad examples'),
    ('bare', '', r'^By (?:default|then|itself|definition|design)\b', 'a fixed phrase'),
    ('bare', '', r'^(?:Of course|To do:)', 'a fixed phrase'),
    ('bare', '', r'^What\b.*\?$', 'a question'),
    ('variable', '', r'\bskb->|\bdev->|\bib_dev->', 'objects of the kernel that every reader knows'),
    ('', 'check/language.py', r'', 'it quotes what it finds'),
]
# Phrases that stand for something else, and what to say instead.
RIDDLES = {
    r'\b(?:is|are|was|were) gone\b': 'freed, destroyed, removed, ended, unplugged, released',
    r'\b(?:at|to) work\b(?! (?:on|around)\b)': 'runs, is running, queues',
    r'\bformer lap\b': 'left over from before the wrap',
    r'\bsoon through\b': 'ends quickly',
    r'\bhears? of\b': 'is notified, gets the completion',
    r'\bin the house\b': 'in this tree',
    r'\bleads? (?:nowhere|on)\b': 'say what happens',
    r'\bin (?:the )?hand\b(?! over)': 'current',
    r'\bholds? up no end\b': 'does not delay the end',
    r'\bfor good\b': 'permanently',
    r'\bno end\b': 'say what does not end',
    r'\bgives? way\b': 'yields, is replaced by',
}
WORD = re.compile(r"[A-Za-z][A-Za-z'_]*")
PERSON = re.compile(r'\b(?:nobody|somebody|anybody|whoever|whom|who)\b', re.IGNORECASE)
BARE = re.compile(r'(?:Of|What|Those|By|Who|Whoever)\b(?![-:.(])')
BARE_FIRST = re.compile(r'To\b(?![-:.(])')
LETTER = re.compile(r'(?<![\w.>])[a-z]->')
MEMBER = re.compile(r'(?<![\w>.-])([a-z]\w+)->[a-z_]')
NAME = re.compile(r'\bcairn_[a-z0-9_]*[a-z0-9]\b(?![*/.-]|_|<)')
RETURN = re.compile(r'Returns\b|Return\b(?= (?:0|1|-E|the |an? |true|false|NULL|whether))')
MODULE_FILE = re.compile(r'(?<![\w/])(?:wire|engine|persist|queue|mem|device|verbs|lane|net|compat)'
                         r'/\w+\.[ch]\b')
SENTENCE = re.compile(r'(?<=[.?!;:])\s+|\f|\n\s*\n')

# Part is a comment, a docstring, a message or a paragraph: where it begins, its
# text with its line breaks, and the identifiers that it may use.
Part = collections.namedtuple('Part', 'line kind text known')


def git_files(*paths):
    run = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard',
                          '--', *paths], capture_output=True, text=True, check=True)
    return [f for f in run.stdout.splitlines() if os.path.isfile(f)]


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def kind_of(path):
    """How comments are written in the file, or None."""
    name = os.path.basename(path)
    if '/golden/' in path or '/performance/' in path and name != 'method.rst':
        return None
    if name.endswith(('.c', '.h', '.S')):
        return 'c'
    if name.endswith('.py'):
        return 'python'
    if name.endswith('.sh') or name in ('Makefile', 'Kbuild'):
        return 'shell'
    if name.endswith(('.rst', '.md')):
        return 'document'
    if re.search(r'\.[1-8]$', name):
        return 'man'
    if '.' in name:
        return None
    first = read(path)[:64].split('\n')[0]
    if first.startswith('#!'):
        return 'python' if 'python' in first else 'shell' if 'sh' in first else None
    return None


C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
IDENTIFIER = re.compile(r'[A-Za-z_]\w*')


def c_blank(text):
    """The code of a C file: comments and strings are blanks."""
    return C_TOKEN.sub(lambda m: re.sub(r'[^\n]', ' ', m[0]), text)


def c_functions(code):
    """(first line, last line, identifiers) of each function."""
    lines = code.split('\n')
    found, begin = [], None
    for number, line in enumerate(lines, 1):
        if line.startswith('{') and begin is None:
            begin = number - 1
            while begin > 1 and lines[begin - 2].strip() and \
                    not lines[begin - 2].startswith(('}', '#')) and \
                    not lines[begin - 2].rstrip().endswith(';'):
                begin -= 1
        elif line.startswith('}') and begin is not None:
            body = '\n'.join(lines[begin - 1:number])
            found.append((begin, number, set(IDENTIFIER.findall(body))))
            begin = None
    return found


def c_parts(text):
    code = c_blank(text)
    functions = c_functions(code)
    everything = set(IDENTIFIER.findall(code))
    for match in C_TOKEN.finditer(text):
        token = match[0]
        line = text.count('\n', 0, match.start()) + 1
        if token[0] == '"':
            yield Part(line, 'message', token[1:-1], None)
        elif token[0] == '/':
            last = line + token.count('\n')
            known = everything
            for begin, end, words in functions:
                if begin - 1 <= last <= end:
                    known = words
                    break
            body = re.sub(r'^/\*+|\*/$|^//+', '', token)
            yield Part(line, 'comment', re.sub(r'(?m)^[ \t]*\*+(?= |$|\t)', '', body), known)


def hash_parts(numbered):
    """Parts of (line, comment text, is the whole line) in order."""
    part, begin, before = [], 0, -1
    for line, text, whole in numbered:
        if part and not (whole and line == before + 1):
            yield Part(begin, 'comment', '\n'.join(part), None)
            part = []
        if not part:
            begin = line
        part.append(text)
        before = line if whole else -1
    if part:
        yield Part(begin, 'comment', '\n'.join(part), None)


def shell_parts(text):
    numbered = []
    here = None
    for number, line in enumerate(text.split('\n'), 1):
        if here:
            here = None if line.strip() == here else here
            continue
        match = re.match(r'\s*#(?!!)(.*)', line)
        if match:
            numbered.append((number, match[1], True))
            continue
        match = re.search(r'\s#\s(.*)', line)
        # a # in quotes is no comment
        if match and not any(line[:match.start()].count(q) % 2 for q in '"\''):
            numbered.append((number, match[1], False))
        for string in re.findall(r'"[^"]*"|\'[^\']*\'', line):
            yield Part(number, 'message', string[1:-1], None)
        match = re.search(r'<<-?\s*[\'"]?(\w+)[\'"]?', line)
        if match and '<<<' not in line:
            here = match[1]
    yield from hash_parts(numbered)


def python_parts(text):
    numbered = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and not token.string.startswith('#!'):
                numbered.append((token.start[0], token.string[1:],
                                 not token.line[:token.start[1]].strip()))
            elif token.type == tokenize.STRING and '"""' not in token.string:
                yield Part(token.start[0], 'message', token.string, None)
        tree = ast.parse(text)
    except (SyntaxError, tokenize.TokenError):
        return
    yield from hash_parts(numbered)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and \
                ast.get_docstring(node):
            yield Part(node.body[0].lineno, 'comment', node.body[0].value.value, None)


def document_parts(text):
    """Paragraphs; no literal blocks, tables, titles, directives."""
    lines = text.split('\n')
    index = 0
    literal = None      # the indentation that a literal block must exceed
    fence = False
    while index < len(lines):
        line = lines[index]
        indent = len(line) - len(line.lstrip())
        if line.startswith('```'):
            fence = not fence
        if fence or not line.strip() or line.startswith('```'):
            index += 1
            continue
        if literal is not None and indent > literal:
            index += 1
            continue
        literal = None
        begin, part = index, []
        while index < len(lines) and lines[index].strip():
            part.append(lines[index])
            index += 1
        if re.match(r'\s*\.\. (?:code|literal|image|figure|list-table|table|_|\|)', part[0]):
            literal = indent
            continue
        if part[-1].rstrip().endswith('::'):
            literal = indent
        elif part[-1].rstrip().endswith(':'):
            literal = indent + 3    # code of Markdown
        if part[0].startswith(('|', '#')) or \
                any(re.match(r'\s*[=+|~^-][=+|~^ -]{2,}', p) for p in part):
            continue
        yield from document_items(begin, part)


def document_items(begin, part):
    """A paragraph, or the items of a list."""
    item, first = [], begin
    for number, line in enumerate(part, begin):
        if re.match(r'\s*(?:[-*]|#\.|\d+\.) ', line) and item:
            yield Part(first + 1, 'paragraph', '\n'.join(item), None)
            item, first = [], number
        item.append(re.sub(r'^(\s*)(?:[-*]|#\.|\d+\.) ', r'\1', line))
    yield Part(first + 1, 'paragraph', '\n'.join(item), None)


def man_parts(text):
    part, begin, skip = [], 0, False
    for number, line in enumerate(text.split('\n'), 1):
        if re.match(r"\.(?:nf|EX)", line):
            skip = True
        elif re.match(r"\.(?:fi|EE)", line):
            skip = False
        words = re.match(r'\.(?:B|I|BR|IR|RB|RI|BI|IB)\s+(.*)', line)
        if skip or (line.startswith(('.', "'")) and not words) or not line:
            if part:
                yield Part(begin, 'paragraph', '\n'.join(part), None)
            part = []
            continue
        if not part:
            begin = number
        part.append(re.sub(r'\\f[BIRP]|\\', '', words[1] if words else line))
    if part:
        yield Part(begin, 'paragraph', '\n'.join(part), None)


PARTS = {'c': c_parts, 'python': python_parts, 'shell': shell_parts,
         'document': document_parts, 'man': man_parts}


def parts_of(path):
    kind = kind_of(path)
    parts = PARTS[kind](read(path)) if kind else []
    # the license is no English; the comment below it is
    return [p._replace(text=re.sub(r'[^\n]*SPDX-License[^\n]*', '', p.text)) for p in parts]


def sentences(part):
    """(line, sentence) of a part, without line breaks."""
    # kernel-doc parameters, items and headings are sentences of their own
    text = re.sub(r'(?=\n\s*(?:@\w+|[-*]\s|\w+:\s|Return:|Context:|\(\w\)))', '\f', part.text)
    # and so are the rows of a list of terms or commands
    text = re.sub(r'(?=\n(?:[ *\t]*\S+|(?:[ *]{3,}|[ *]*\t+)\S.*?\S)(?: {2,}|\t+)\S)', '\f', text)
    at = 0
    for match in list(SENTENCE.finditer(text)) + [None]:
        end = match.start() if match else len(text)
        piece = text[at:end]
        if piece.strip():
            begin = at + len(piece) - len(piece.lstrip())
            yield part.line + text.count('\n', 0, begin), re.sub(r'\s+', ' ', piece).strip()
        at = match.end() if match else end


@functools.lru_cache(maxsize=None)
def tree_names():
    """Identifiers of the code of the tree."""
    names = set()
    for path in git_files('drivers', 'include', 'userspace', 'tests', 'scripts'):
        if path.endswith(('.c', '.h', '.S')):
            names |= set(IDENTIFIER.findall(c_blank(read(path))))
            # tables expand to names, and messages name tools
            names |= set(re.findall(r'\bcairn_\w+', ' '.join(re.findall(r'"[^"\n]*"', read(path)))))
        elif kind_of(path) or path.endswith('.map'):
            names |= set(re.findall(r'\bcairn_\w+', read(path)))
        names |= set(re.findall(r'\bcairn_\w+', path))
    return names


def is_known_name(name):
    names = tree_names()
    return name in names or any(n.startswith(name + '_') for n in names)


def faults_of_sentence(kind, part, sentence, first):
    """(rule, text) of what is wrong."""
    if part.kind == 'message' and ' ' not in part.text:
        return
    for match in PERSON.finditer(sentence):
        if kind != 'man' or not re.search(r'\buser', sentence):
            yield 'word', f"'{match[0]}'"
    if part.kind == 'message':
        return
    if BARE.match(sentence) or (first and part.kind == 'comment' and BARE_FIRST.match(sentence)):
        yield 'bare', f"begins with a bare '{sentence.split()[0]}'"
    for riddle, better in RIDDLES.items():
        match = re.search(riddle, sentence)
        if match:
            yield 'riddle', f"'{match[0]}': {better}"
    words = len(WORD.findall(sentence))
    if words > LONGEST:
        yield 'long', f'{words} words: {sentence[:40]}...'
    for match in MODULE_FILE.finditer(sentence):
        if not os.path.exists(f'{MODULE}/{match[0]}'):
            yield 'file', f'{match[0]} is not in the tree'
    if kind != 'c':
        return
    for match in LETTER.finditer(sentence):
        yield 'letter', f"'{match[0]}' is one letter"
    for name in MEMBER.findall(sentence):
        if name not in part.known:
            yield 'variable', f"'{name}->' is not a variable here"
    for name in NAME.findall(sentence):
        if not is_known_name(name):
            yield 'name', f"'{name}' is not in the code"
    if RETURN.match(sentence):
        yield 'return', "not in the form 'Return:'"


def is_excepted(rule, path, sentence):
    return any((r in ('', rule)) and path.endswith(end) and re.search(what, sentence)
               for r, end, what, _ in EXCEPTIONS)


def check_file(path):
    wrong = []
    kind = kind_of(path)
    for part in parts_of(path):
        for index, (line, sentence) in enumerate(sentences(part)):
            for rule, text in faults_of_sentence(kind, part, sentence, index == 0):
                if not is_excepted(rule, path, sentence):
                    wrong.append((path, line, f'{text} [{rule}]'))
    return wrong


def check(paths):
    return sorted(set(fault for path in git_files(*paths) for fault in check_file(path)))


def room_of(path):
    directory = os.path.dirname(path) or path
    parts = directory.split('/')
    return '/'.join(parts[:6 if directory.startswith(MODULE) else 2])


def figures():
    """Per room: comments, words; per 1000 words; percent of comments."""
    rooms = collections.defaultdict(collections.Counter)
    for path in git_files('.'):
        parts = [p for p in parts_of(path) if p.kind != 'message' and WORD.search(p.text)]
        if not parts:
            continue
        counts = collections.Counter(faults=len(check_file(path)), parts=len(parts))
        for part in parts:
            text = part.text.strip()
            counts['words'] += len(WORD.findall(text))
            counts['bare'] += bool(BARE.match(text) or (part.kind == 'comment' and
                                                        BARE_FIRST.match(text)))
            for _, sentence in sentences(part):
                words = len(WORD.findall(sentence))
                if not is_excepted('word', path, sentence):
                    counts['persons'] += len(PERSON.findall(sentence))
                counts['sentences'] += words > 2
                counts['long'] += words > LONGEST
        rooms[room_of(path)] += counts
        rooms['all'] += counts
    print(f'{"":44} comments  words  persons/1000  bare %  long %  faults')
    for room in sorted(rooms, key=lambda r: (r == 'all', r)):
        c = rooms[room]
        print(f'{room:44} {c["parts"]:8} {c["words"]:6} {1000 * c["persons"] / c["words"]:13.2f} '
              f'{100 * c["bare"] / c["parts"]:7.1f} '
              f'{100 * c["long"] / max(1, c["sentences"]):7.1f} {c["faults"]:7}')


GOOD = {
    'gap.c': '/* The gap\'s first PSN. Pairs with smp_load_acquire(). */\n'
             'static int gap_open(struct gap *gap)\n{\n\t/* gap->first is not set yet. */\n'
             '\treturn gap->first;\n}\n\n'
             '/**\n * gap_close() - close it\n * @gap: the gap\n *\n * Return: 0 or -ENOENT.\n */\n'
             'int gap_close(struct gap *gap)\n{\n\tprintf("the gap\'s /* end */");\n}\n',
    'run': '#!/bin/bash\n# Runs it.\nx=${1#*/}  # the rest\ncat <<END\n# who\nEND\n',
    'tool.py': '#!/usr/bin/env python3\n"""Runs it."""\nX = "who"\n',
    'page.rst': 'Who\n===\n\nA user who reads this. By default it is off::\n\n  # who\n\nEnd.\n',
    'page.3': '.SH NAME\nx\n.nf\nwho\n.fi\nIt does.\n',
}
UNKNOWN = 'cairn_' + 'unknown_name'    # so that it does not find itself
LONG = 'the responder ' * 15 + 'waits.'
# rule, file, text, line of the fault
BROKEN = [
    ('word', 'bad.c', '/*\n * Nobody waits.\n */\n', 2),
    ('word', 'bad.c', 'int a;\n\n/* The lane, who waits. */\n', 3),
    ('word', 'bad.c', 'void f(void)\n{\n\tpr_info("who waits");\n}\n', 3),
    ('word', 'bad.sh', '# Runs it.\ncheck "nobody waits"\n', 2),
    ('word', 'bad.py', 'print("nobody waits")\n', 1),
    ('word', 'bad.sh', '# The first.\n#\n# Somebody waits.\n', 3),
    ('word', 'bad.py', 'def f():\n    """Waits.\n\n    For anybody."""\n', 4),
    ('word', 'bad.rst', 'Text.\n\nThe lane,\nwho waits.\n', 3),
    ('word', 'bad.7', '.SH NAME\nThe lane,\nwho waits.\n', 2),
    ('bare', 'bad.c', '/* What waits is sent. */\n', 1),
    ('bare', 'bad.c', '/* It waits. Those that\n * are sent do not. */\n', 1),
    ('bare', 'bad.c', '/* To be sent. */\n', 1),
    ('bare', 'bad.rst', '- one\n- Of the lanes one.\n', 2),
    ('riddle', 'bad.c', '/* The region is\n * gone. */\n', 1),
    ('riddle', 'bad.sh', 'x=1 # another is at work\n', 1),
    ('letter', 'bad.c', '/* Under q->lock. */\n', 1),
    ('variable', 'bad.c', 'void f(int a)\n{\n\t/* lane->lock is held. */\n\ta = 1;\n}\nint lane;\n', 3),
    ('variable', 'bad.c', '/* lane->lock is held. */\nvoid f(int a)\n{\n}\n\nint lane;\n', 1),
    ('file', 'bad.c', '/* See engine/no_such.c. */\n', 1),
    ('name', 'bad.c', f'/* {UNKNOWN}() waits. */\n', 1),
    ('return', 'bad.h', '/* Send it. Returns 0 or -EINVAL. */\nint f(void);\n', 1),
    ('return', 'bad.h', '/**\n * f() - send it\n *\n * Returns: 0.\n */\nint f(void);\n', 4),
    ('long', 'bad.c', f'/* It waits. */\n/* {LONG} */\n', 2),
    ('long', 'bad.py', f'# {LONG[:90]}\n# {LONG[90:]}\n', 1),
]


def self_test():
    """Good texts have no fault, each broken one has its own only."""
    bad = 0
    for rule, name, text, line in [('', None, '', 0)] + BROKEN:
        with tempfile.TemporaryDirectory() as top:
            for path, content in {**GOOD, **({name: text} if name else {})}.items():
                with open(os.path.join(top, path), 'w', encoding='utf-8') as file:
                    file.write(content)
            wrong = [fault for path in sorted(os.listdir(top))
                     for fault in check_file(os.path.join(top, path))]
        found = {(re.search(r'\[(\w+)\]$', w[2])[1], os.path.basename(w[0]), w[1]) for w in wrong}
        if found != ({(rule, name, line)} if rule else set()):
            print(f'language.py: {rule or "good texts"}, {text!r}: {wrong}')
            bad = 1
    return bad


def main(args):
    if args == ['--self-test']:
        os.chdir(TOP)
        return self_test()
    if any(a.startswith('-') for a in args) and args not in (['--all'], ['--figures']):
        sys.exit(__doc__)
    os.chdir(TOP)
    if args == ['--figures']:
        figures()
        return 0
    wrong = check(['.'] if args == ['--all'] else args or CLEAN)
    for path, line, text in wrong:
        print(f'{path}:{line}: {text}')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
