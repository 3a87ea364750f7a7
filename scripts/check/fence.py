#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Is the fence behind the write-back in the built module, on every path?

    fence.py [MODULE]...     default: build/*/cairn.ko
    fence.py --self-test     objects that are wrong must be noticed

Reads what objdump -dr shows, x86-64 only, and follows all jumps of a function. A
condition may be true or false anywhere: a path that the source excludes counts.

write-back  arch_wb_cache_pmem() is called in persist/flush.c alone, and always by
            cairn_flush_writeback(); __memcpy_flushcache() in cairn_env_stream_words() alone
fence       cairn_flush_fence() has an sfence on every path, and so has all that
            calls it without a condition, cairn_env_fence() above all
due         cairn_persist_fence() returns without a fence only when its flag is not
            set and no fence was put off; it clears the flag only where a fence follows
put-off     cairn_persist_fence_answers() fences where cairn_env_fence_later() refuses;
            cairn_net_settle() fences when a fence was put off
leaves      every packet leaves (ip_local_out(), or to a receiver on this host) behind
            cairn_net_settle(), and cairn_net_unplug() settles
answers     cairn_resp_run() calls nothing that can send an answer before
            cairn_persist_fence_answers()
host        the host is asked (cairn_env_complete()) after cairn_persist_fence()
run         lane/exec.c: what was received is followed by cairn_resp_run() or
            cairn_req_run() before the side is unlocked, on the same CPU therefore, and
            cairn_resp_run() by exec_settle_fence()
handed      a packet handed over on this host is followed by cairn_resp_settle()
            before that, which fences
unbound     lane/drain.c settles before the side may run on another CPU
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), '../..'))

HEAD = re.compile(r'^([0-9a-f]+) <([^>]+)>:$')
SECTION = re.compile(r'^Disassembly of section (\S+):$')
LINE = re.compile(r'^ +([0-9a-f]+):\s+(\S.*?)\s*$')
RELOC = re.compile(r'^\s+[0-9a-f]+: R_X86_64_(?:PLT32|PC32)\s+([^-+\s]+)([-+]0x[0-9a-f]+)?$')
TARGET = re.compile(r'^(?:bnd |notrack )?(j\w+|call)q?\s+(?:([0-9a-f]+) <([^>+]+)(\+0x[0-9a-f]+)?>|(\*.*))$')
RETURN = '__x86_return_thunk'
# calls that do not return: what lies behind them belongs to another path
NO_RETURN = {'__stack_chk_fail'}
# sends a packet that acknowledges nothing
NO_ANSWER = {'cairn_congestion_answer'}
# where a packet leaves the CPU
EXITS = {'ip_local_out', 'ip6_local_out', 'cairn_local_hand', 'cairn_net_rx_local'}


class Insn:
    def __init__(self, section, at, text):
        self.key = (section, at)
        self.text = text
        self.symbol = None      # of a relocation
        self.addend = 0
        self.next = None        # the instruction behind it

    def decode(self):
        """Where it can go to: falls through?, keys of jumps, called symbol, ends?"""
        if re.match(r'(repz )?retq?\b|ud2|int3', self.text):
            return False, [], None, not self.text.startswith(('ud2', 'int3'))
        match = TARGET.match(self.text)
        if not match:
            return True, [], None, False
        kind, at, name, inner, indirect = match.groups()
        symbol, where = name, at and int(at, 16)
        if self.symbol:
            symbol = self.symbol
            where = None
            if symbol.startswith('.text'):
                where, symbol = (symbol, self.addend + 4), None
        elif indirect:
            symbol = '*'
        elif inner:
            symbol = None
        if kind == 'call':
            return symbol not in NO_RETURN, [], symbol or '*', False
        falls = kind != 'jmp'
        if symbol is None:
            return falls, [where if isinstance(where, tuple) else (self.key[0], where)], None, False
        if symbol == RETURN:
            return falls, [], None, True
        return falls, [], symbol, True      # a tail call


class Module:
    def __init__(self, path):
        self.insns, self.functions = {}, {}
        self.parse(path)
        self.calls = {name: {c for i in self.body(name) if (c := i.decode()[2])}
                      for name in self.functions}

    def parse(self, path):
        text = subprocess.run(['objdump', '-dr', '--no-show-raw-insn', path], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        section, last = '', None
        for line in text.splitlines():
            if match := SECTION.match(line):
                section, last = match[1], None
            elif match := HEAD.match(line):
                # an instruction that does not return ends a function, and does not reach the next one
                last = None
                if not match[2].startswith('__pfx_'):
                    self.functions[match[2]] = (section, int(match[1], 16))
            elif last and (match := RELOC.match(line)):
                last.symbol, last.addend = match[1], int(match[2] or '0', 16)
            elif match := LINE.match(line):
                insn = Insn(section, int(match[1], 16), match[2].split('#')[0].strip())
                if last:
                    last.next = insn
                self.insns[insn.key] = last = insn

    def after(self, insn):
        """The instructions that may run next within the function; the called symbol; ends?"""
        falls, jumps, symbol, ends = insn.decode()
        found = [self.insns[key] for key in jumps if key in self.insns]
        ends = ends or len(found) < len(jumps)
        if falls and insn.next:
            found.append(insn.next)
        return found, symbol, ends

    def body(self, name):
        """Every instruction that the function can get to."""
        first = self.insns.get(self.functions.get(name))
        todo, seen = [first] if first else [], {}
        while todo:
            insn = todo.pop()
            if insn.key not in seen:
                seen[insn.key] = insn
                todo += self.after(insn)[0]
        return list(seen.values())

    def avoids(self, starts, passes, bad):
        """Is there a path from a start to what is bad that does not pass?
        bad(insn, symbol, ends); "passes" is asked first."""
        todo, seen = list(starts), set()
        while todo:
            insn = todo.pop()
            if insn.key in seen:
                continue
            seen.add(insn.key)
            found, symbol, ends = self.after(insn)
            if passes(insn, symbol):
                continue
            if bad(insn, symbol, ends):
                return True
            todo += found
        return False

    def entry(self, name):
        return [self.insns[self.functions[name]]]

    def reaching(self, target, without=frozenset()):
        """All functions from which the target can be called, other than by those."""
        found, grew = {target}, True
        while grew:
            more = {n for n, calls in self.calls.items()
                    if n not in found | without and calls & found}
            grew = bool(more)
            found |= more
        return found

    def fencing(self):
        """The functions with a fence on every path."""
        always, grew = set(), True
        while grew:
            more = {n for n in self.functions if n not in always and
                    not self.avoids(self.entry(n), lambda i, s: is_fence(i) or s in always,
                                    lambda i, s, ends: ends)}
            # a function that never ends is none of them
            more = {n for n in more if any(is_fence(i) or i.decode()[2] in always
                                           for i in self.body(n))}
            grew = bool(more)
            always |= more
        return always


def is_fence(insn):
    return insn.text.split()[0] in ('sfence', 'mfence')


def check_writeback(m):
    for name, calls in m.calls.items():
        # the compiler may put the one in line in the other
        if 'arch_wb_cache_pmem' in calls and name not in (
                'cairn_flush_writeback', 'cairn_flush_place'):
            yield f'{name}() writes back by itself'
        if '__memcpy_flushcache' in calls and name != 'cairn_env_stream_words':
            yield f'{name}() has non-temporal stores'
    if m.avoids(m.entry('cairn_flush_writeback'), lambda i, s: s == 'arch_wb_cache_pmem',
                lambda i, s, ends: ends):
        yield 'cairn_flush_writeback() may not write back'


def check_fence(m):
    always = m.fencing()
    for name in 'cairn_flush_fence', 'cairn_env_fence':
        if name not in always:
            yield f'{name}() may not fence'


def due_flag(m):
    """Patterns: the flag of cairn_persist_fence() is tested; is cleared."""
    flag = next((match[1] for i in m.body('cairn_persist_fence')
                 if (match := re.match(r'cmpb\s+\$0x0,(0x[0-9a-f]+)\(%', i.text))), 'none')
    return (re.compile(rf'cmpb\s+\$0x0,{flag}\(%'), re.compile(rf'movb\s+\$0x0,{flag}\(%'))


def check_due(m):
    always = m.fencing()
    body = m.body('cairn_persist_fence')
    test, clear = due_flag(m)
    if m.avoids(m.entry('cairn_persist_fence'),
                lambda i, s: test.match(i.text) or s in always, lambda i, s, e: e):
        yield 'cairn_persist_fence() returns whatever its flag is'
    cleared = [i for i in body if clear.match(i.text)]
    if not cleared or m.avoids(cleared, lambda i, s: s in always, lambda i, s, e: e):
        yield 'cairn_persist_fence() may clear its flag and not fence'
    if m.avoids(m.entry('cairn_persist_fence'),
                lambda i, s: s == 'cairn_env_fence_waits' or s in always, lambda i, s, e: e):
        yield 'cairn_persist_fence() returns although a fence was put off'
    # no third condition: behind these there is one way
    branches = [i for i in body if is_branch(i)]
    if len(branches) != 2:
        yield f'cairn_persist_fence() has {len(branches)} conditions'


def is_branch(insn):
    return re.match(r'j(?!mp)', insn.text)


def ways(m, insn):
    """The instructions behind the next je or jne: when the value is zero, when not."""
    while insn and not is_branch(insn):
        insn = insn.next
    if not insn or not re.match(r'jn?e ', insn.text):
        return None
    target = m.insns.get(insn.decode()[1][0])
    return (target, insn.next) if insn.text.startswith('je') else (insn.next, target)


def check_put_off(m):
    always = m.fencing()
    test = due_flag(m)[0]
    name = 'cairn_persist_fence_answers'
    due = [ways(m, i) for i in m.body(name) if test.match(i.text)]
    if not due or not due[0] or m.avoids([due[0][1]], lambda i, s: s == 'cairn_env_fence_later',
                                         lambda i, s, ends: ends):
        yield f'{name}() may forget what is due'
    asked = [i for i in m.body(name) if i.decode()[2] == 'cairn_env_fence_later']
    for insn in asked:
        refused = insn.next and ways(m, insn.next)
        if not refused or m.avoids(
                [refused[0]], lambda i, s: s == 'cairn_persist_fence' or s in always or
                test.match(i.text), lambda i, s, ends: ends):
            yield f'{name}() may not fence when packets do not wait'
    settled = ways(m, m.entry('cairn_net_settle')[0])
    if not settled or m.avoids([settled[1]], lambda i, s: s in always, lambda i, s, ends: ends):
        yield 'cairn_net_settle() may not fence'


def check_leaves(m):
    if m.avoids(m.entry('cairn_net_unplug'), lambda i, s: s == 'cairn_net_settle',
                lambda i, s, ends: ends):
        yield 'cairn_net_unplug() may not settle'
    exits, todo = set(), set(EXITS)
    while todo:
        exits |= todo
        todo = {n for n, calls in m.calls.items() if calls & exits and n not in exits and
                m.avoids(m.entry(n), lambda i, s: s == 'cairn_net_settle',
                         lambda i, s, ends: s in exits)}
    for name in exits & {'cairn_net_xmit', 'cairn_net_tx_send', 'cairn_net_unplug'}:
        yield f'{name}() may let a packet leave before it settles'


def check_answers(m):
    senders = m.reaching('cairn_env_emit') - NO_ANSWER
    calls = m.calls['cairn_resp_run']
    if not calls & senders:
        yield 'cairn_resp_run() sends nothing'
    if m.avoids(m.entry('cairn_resp_run'), lambda i, s: s == 'cairn_persist_fence_answers',
                lambda i, s, ends: s in senders):
        yield 'cairn_resp_run() may send before it fences'


def check_host(m):
    """Here the compiler may have put cairn_persist_fence() in line."""
    always = m.fencing()
    test, clear = due_flag(m)
    for name in 'cairn_persist_placed', 'persist_ask_host':
        if name not in m.functions:
            continue
        if m.avoids(m.entry(name), lambda i, s: test.match(i.text) or
                    s in ('cairn_persist_fence', 'persist_ask_host'),
                    lambda i, s, ends: s == 'cairn_env_complete'):
            yield f'{name}() may ask the host before it fences'
        if m.avoids([i for i in m.body(name) if clear.match(i.text)],
                    lambda i, s: s in always, lambda i, s, ends: s == 'cairn_env_complete'):
            yield f'{name}() may clear the flag and not fence'


def unlocks(insn):
    """exec_unlock_side(): the unlock, and a full barrier."""
    return (insn.decode()[2] in ('_raw_spin_unlock', 'queued_spin_unlock') and insn.next and
            re.match(r'lock (addl|orl)|mfence', insn.next.text))


def settling(m):
    """Functions that settle handed-over packets: a sender's run gets there, too."""
    return {n for n, calls in m.calls.items() if 'cairn_resp_settle' in calls}


def behind(m, name, callees):
    """The instructions of a function behind its calls of these."""
    return [i.next for i in m.body(name) if i.decode()[2] in callees and i.next]


def check_run(m):
    runs = {'cairn_resp_run', 'cairn_req_run'}
    homes = [n for n, calls in m.calls.items() if 'cairn_resp_run' in calls]
    if not homes:
        yield 'nothing calls cairn_resp_run()'
    for name in homes:
        # not itself, where it goes round, nor what gets there by way of itself
        receivers = m.reaching('cairn_resp_rx', settling(m) | {name})
        received = behind(m, name, receivers)
        if not received:
            yield f'{name}() receives nothing before it runs'
        if m.avoids(received, lambda i, s: s in runs,
                    lambda i, s, ends: ends or unlocks(i)):
            yield f'{name}() may give up the lock between receiving and cairn_resp_run()'
        if m.avoids(behind(m, name, {'cairn_resp_run'}), lambda i, s: s == 'exec_settle_fence',
                    lambda i, s, ends: ends or unlocks(i)):
            yield f'{name}() may give up the lock before it settles'
    body = m.body('exec_settle_fence')
    if 'cairn_env_settle' not in m.calls['exec_settle_fence']:
        yield 'exec_settle_fence() does not settle'
    if len([i for i in body if is_branch(i)]) > 2:
        yield 'exec_settle_fence() has more than two conditions'


def check_handed(m):
    if m.avoids(m.entry('cairn_resp_settle'), lambda i, s: s == 'cairn_persist_fence',
                lambda i, s, ends: ends):
        yield 'cairn_resp_settle() may not fence'
    if not settling(m):
        yield 'nothing calls cairn_resp_settle()'
    for name in settling(m):
        received = behind(m, name, {'cairn_resp_rx'})
        if not received:
            yield f'{name}() receives nothing'
        if m.avoids(received, lambda i, s: s == 'cairn_resp_settle',
                    lambda i, s, ends: ends or unlocks(i)):
            yield f'{name}() may give up the lock between receiving and cairn_resp_settle()'


def check_unbound(m):
    ends = {'cairn_exec_resume', 'cairn_lane_ready'}
    homes = [n for n, calls in m.calls.items() if 'cairn_exec_resume' in calls]
    if not homes:
        yield 'nothing calls cairn_exec_resume()'
    for name in homes:
        if m.avoids(m.entry(name) + behind(m, name, ends), lambda i, s: s == 'cairn_env_settle',
                    lambda i, s, _: s in ends):
            yield f'{name}() may end the binding of a side before it settles'


NEEDED = ['cairn_flush_writeback', 'cairn_flush_fence', 'cairn_env_fence',
          'cairn_persist_fence', 'cairn_resp_run', 'cairn_persist_placed', 'cairn_resp_settle',
          'cairn_persist_fence_answers', 'cairn_net_settle', 'cairn_net_unplug',
          'cairn_net_xmit', 'exec_settle_fence']
CHECKS = [check_writeback, check_fence, check_due, check_put_off, check_leaves, check_answers,
          check_host, check_run, check_handed, check_unbound]


def check(path):
    module = Module(path)
    missing = [f'{n}() is not there' for n in NEEDED if n not in module.functions]
    return missing or [text for rule in CHECKS for text in rule(module)]


GOOD = '''
#define noinline __attribute__((__noinline__))
struct qp { char before[300]; char due, ack, idle; };
void arch_wb_cache_pmem(void *, long);
void cairn_env_count(struct qp *);
noinline void cairn_env_emit(struct qp *q) { asm volatile("" : : "r"(q)); }
noinline void cairn_env_complete(struct qp *q) { asm volatile("" : : "r"(q)); }
void _raw_spin_unlock(struct qp *);
noinline void cairn_flush_writeback(void *p, long n) { arch_wb_cache_pmem(p, n); }
noinline void cairn_flush_fence(void) { asm volatile("sfence" : : : "memory"); }
noinline void cairn_env_fence(struct qp *q) { cairn_flush_fence(); }
noinline int cairn_env_fence_waits(struct qp *q) { return q->idle; }
noinline _Bool cairn_env_fence_later(struct qp *q) { return q->idle; }
noinline void cairn_persist_fence(struct qp *q)
{
	if (!q->due && !cairn_env_fence_waits(q))
		return;
	q->due = 0;
	cairn_env_count(q);
	cairn_env_fence(q);
}
noinline void cairn_persist_fence_answers(struct qp *q)
{
	if (q->due && !cairn_env_fence_later(q))
		cairn_persist_fence(q);
	q->due = 0;
}
extern struct qp *unfenced;
noinline void cairn_net_settle(void)
{
	if (!unfenced)
		return;
	unfenced = 0;
	cairn_flush_fence();
}
noinline void cairn_env_settle(void) { cairn_net_settle(); }
void ip_local_out(struct qp *);
int cairn_local_hand(struct qp *);
void cairn_net_rx_local(struct qp *);
noinline void cairn_net_tx_send(struct qp *q)
{
	cairn_net_settle();
	ip_local_out(q);
}
static noinline void leave(struct qp *q) { cairn_net_rx_local(q); }
void cairn_net_xmit(struct qp *q)
{
	if (q->idle) {
		cairn_net_settle();
		if (!cairn_local_hand(q))
			leave(q);
		return;
	}
	cairn_net_tx_send(q);
}
void cairn_net_unplug(struct qp *q)
{
	while (q->ack)
		cairn_net_tx_send(q);
	cairn_net_settle();
	q->idle--;
}
noinline void cairn_persist_placed(struct qp *q)
{
	if (q->idle)
		return;
	cairn_persist_fence(q);
	cairn_env_complete(q);
}
noinline void cairn_resp_rx(struct qp *q) { cairn_persist_placed(q); }
noinline void cairn_req_run(struct qp *q) { cairn_env_emit(q); }
noinline int cairn_resp_run(struct qp *q)
{
	if (!q->idle) {
		/* a check of the stack, whose failure does not return */
		asm volatile("test %0,%0; jne 1f; call __stack_chk_fail; jmp .Lanswer; 1:"
			     : : "r"(q->idle));
		cairn_persist_fence_answers(q);
		if (q->ack) {
			asm volatile(".Lanswer:");
			cairn_env_emit(q);
		}
	}
	return q->idle;
}
static noinline void exec_settle_fence(struct qp *q)
{
	if (q->due && q->ack)
		cairn_env_settle();
}
void exec_run(struct qp *q, int resp)
{
	do {
		while (q->ack)
			cairn_resp_rx(q);
		if (resp)
			cairn_resp_run(q);
		else
			cairn_req_run(q);
		exec_settle_fence(q);
		_raw_spin_unlock(q);
		asm volatile("lock; addl $0,-4(%%rsp)" : : : "memory");
	} while (q->idle);
}
noinline void cairn_resp_settle(struct qp *q) { cairn_persist_fence(q); }
void cairn_exec_hand(struct qp *q)
{
	while (q->ack)
		cairn_resp_rx(q);
	cairn_resp_settle(q);
	_raw_spin_unlock(q);
	asm volatile("lock; addl $0,-4(%%rsp)" : : : "memory");
}
void cairn_lane_ready(struct qp *);
void cairn_exec_resume(struct qp *);
void drain_run(struct qp *q)
{
	while (q->idle) {
		cairn_env_settle();
		if (q->before[7])
			cairn_lane_ready(q);
		else
			cairn_exec_resume(q);
	}
}
'''
# the defect, the text that it replaces (there is one), and the new text
WRONG = [
    ('no fence', 'asm volatile("sfence" : : : "memory")', 'asm volatile("" : : : "memory")'),
    ('a fence now and then', '{ asm volatile("sfence" : : : "memory"); }',
     '{ extern int x; if (x) asm volatile("sfence" : : : "memory"); }'),
    ('the port does not fence', '{ cairn_flush_fence(); }', '{ }'),
    ('the port fences now and then', '{ cairn_flush_fence(); }',
     '{ if (q->ack) cairn_flush_fence(); }'),
    ('no write-back', '{ arch_wb_cache_pmem(p, n); }', '{ }'),
    ('a write-back of its own', '{ cairn_persist_placed(q); }',
     '{ arch_wb_cache_pmem(q, 8); cairn_persist_placed(q); }'),
    ('non-temporal stores of its own', '{ cairn_persist_placed(q); }',
     '{ __memcpy_flushcache(q, q, 8); cairn_persist_placed(q); }'),
    ('long ones are written back', '{ arch_wb_cache_pmem(p, n); }',
     '{ if (n > 64) arch_wb_cache_pmem(p, n); }'),
    ('the flag is cleared, no fence', '\tcairn_env_count(q);\n\tcairn_env_fence(q);',
     '\tcairn_env_count(q);'),
    ('a third condition', 'if (!q->due && !cairn_env_fence_waits(q))',
     'if ((!q->due && !cairn_env_fence_waits(q)) || !q->ack)'),
    ('a fence that was put off is not executed', 'if (!q->due && !cairn_env_fence_waits(q))',
     'if (!q->due)'),
    ('it is put off when nothing waits', 'if (q->due && !cairn_env_fence_later(q))',
     'if (q->due && cairn_env_fence_later(q))'),
    ('what is due is forgotten', '''	if (q->due && !cairn_env_fence_later(q))
		cairn_persist_fence(q);
''', '''	if (q->due && q->ack && !cairn_env_fence_later(q))
		cairn_persist_fence(q);
'''),
    ('what was put off is not executed', '	unfenced = 0;\n	cairn_flush_fence();',
     '	unfenced = 0;'),
    ('it is executed now and then', '	unfenced = 0;\n	cairn_flush_fence();',
     '	if (unfenced->ack)\n		cairn_flush_fence();\n	unfenced = 0;'),
    ('a packet leaves first', '	cairn_net_settle();\n	ip_local_out(q);',
     '	ip_local_out(q);\n	cairn_net_settle();'),
    ('a packet is handed over first', '''		cairn_net_settle();
		if (!cairn_local_hand(q))''', '''		if (!cairn_local_hand(q))'''),
    ('a copy is handed over first', '''		cairn_net_settle();
		if (!cairn_local_hand(q))
''', '''		if (q->ack)
			cairn_net_settle();
		if (q->ack || q->due)
'''),
    ('unplug does not settle', '	cairn_net_settle();\n	q->idle--;', '	q->idle--;'),
    ('unlocked before it settles', '		exec_settle_fence(q);\n', '''		if (q->before[6])
			exec_settle_fence(q);
'''),
    ('it does not settle', 'if (q->due && q->ack)\n		cairn_env_settle();', ';'),
    ('it settles now and then', 'if (q->due && q->ack)', 'if (q->due && q->ack && q->idle)'),
    ('the answer first', '''		cairn_persist_fence_answers(q);
		if (q->ack) {''', '''		if (q->ack)
			cairn_env_emit(q);
		cairn_persist_fence_answers(q);
		if (q->ack) {'''),
    ('no fence before the answer', '''		cairn_persist_fence_answers(q);
		if (q->ack)''', '		if (q->ack)'),
    ('a fence for an answer now and then', '''		cairn_persist_fence_answers(q);
		if (q->ack)''', '''		if (q->before[3])
			cairn_persist_fence_answers(q);
		if (q->ack)'''),
    ('the host is asked first', '''	cairn_persist_fence(q);
	cairn_env_complete(q);''', '''	cairn_env_complete(q);
	cairn_persist_fence(q);'''),
    ('unlocked in between', '			cairn_resp_rx(q);\n', '''			cairn_resp_rx(q);
		if (q->before[5])
			continue;
'''),
    ('it returns in between', '			cairn_resp_rx(q);\n', '''			cairn_resp_rx(q);
		if (q->before[5])
			return;
'''),
    ('a binding ends unfenced', '		cairn_env_settle();\n		if (q->before[7])',
     '		if (q->before[7])'),
    ('only the first ends fenced', '	while (q->idle) {\n		cairn_env_settle();\n',
     '	cairn_env_settle();\n	while (q->idle) {\n'),
    ('what is handed over is not fenced', '{ cairn_persist_fence(q); }\nvoid', '{ }\nvoid'),
    ('unlocked before it is', '''	cairn_resp_settle(q);
	_raw_spin_unlock(q);
''', '''	if (q->before[5])
		cairn_resp_settle(q);
	_raw_spin_unlock(q);
'''),
]


def self_test():
    bad = 0
    with tempfile.TemporaryDirectory() as tmp:
        for what, old, new in [('', '', '')] + WRONG:
            if old and GOOD.count(old) != 1:
                print(f'fence.py: {what}: {GOOD.count(old)} times in the good source')
                bad = 1
            source = GOOD.replace(old, new) if old else GOOD
            built = subprocess.run(
                ['gcc', '-O2', '-w', '-c', '-x', 'c', '-o', f'{tmp}/x.o', '-'], input=source,
                text=True, check=False)
            if built.returncode or bool(check(f'{tmp}/x.o')) != bool(what):
                print(f'fence.py: {"not noticed: " + what if what else check(tmp + "/x.o")}')
                bad = 1
    return bad


def main(args):
    if args == ['--self-test']:
        return self_test()
    wrong = 0
    # kernels with checks have calls of theirs in between, and user-mode Linux no NVDIMM
    built = [path for path in sorted(glob.glob(f'{TOP}/build/*/cairn.ko'))
             if not re.search('/(uml(-[a-z]+)?|kcsan|rt|64k)/', path)]
    for path in args or built:
        machine = subprocess.run(['objdump', '-f', path], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        if 'x86-64' not in machine:
            continue
        for text in check(path):
            print(f'{os.path.relpath(path, TOP)}: {text}')
            wrong = 1
    return wrong


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
