# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Arithmetic of the bench: what the tools print, medians, ratios, the limit."""

import json
import re
import statistics

MIB = 1 << 20


def rst_table(rows):
    """A simple table of cells of text: a line for each row, the head first. Its first column must not be empty."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rule = '  '.join('=' * width for width in widths)
    lines = ['  '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return '\n'.join([rule, lines[0], rule, *lines[1:], rule]) + '\n'


def result_text(result):
    """A result as JSON: a line for each member, and one for each run, so that diffs are short."""
    def member(name, value):
        if name == 'runs' and value:
            rows = ',\n'.join(f'  {json.dumps(run)}' for run in value)
            return f' "runs": [\n{rows}\n ]'
        return f' {json.dumps(name)}: {json.dumps(value)}'
    return '{\n' + ',\n'.join(member(*item) for item in result.items()) + '\n}\n'


class Unreadable(Exception):
    """A tool did not print the expected output."""


def last_row(text):
    """The numbers of the last line of a perftest table."""
    rows = [line.split() for line in text.splitlines()
            if re.match(r'\s*\d+\s+\d+\s+([\d.]+|inf)\s', line)]
    if not rows:
        raise Unreadable(text[-400:])
    return [float(x) for x in rows[-1]]


def perftest_bw(text, seconds):
    """
    ib_*_bw -D seconds, or -n (None): the average, in bytes a second, and messages
    a second. Where the tool fails to find the processor's clock rate (a noisy
    machine) it prints no speed; its count of messages and the duration still tell.
    """
    row = last_row(text)
    if len(row) < 5:
        raise Unreadable(text[-400:])
    if not 0 < row[3] < float('inf'):
        if not seconds:
            raise Unreadable(text[-400:])
        return {'bytes_s': row[0] * row[1] / seconds, 'msgs_s': row[1] / seconds}
    rate = row[4] * 1e6
    # six digits of millions of messages are few for long ones
    return {'bytes_s': row[3] * MIB, 'msgs_s': max(rate, row[3] * MIB / row[0])}


def perftest_lat(text):
    """ib_*_lat: microseconds, half a round trip (READ: all of it)."""
    row = last_row(text)
    if len(row) < 8 or not row[4] < float('inf'):
        raise Unreadable(text[-400:])
    return {'usec': row[4], 'usec_min': row[2], 'usec_p99': row[7]}


def pairs(text):
    """A line of NAME=NUMBER words, as our own programs print it last."""
    found = dict(re.findall(r'(\w+)=([\d.]+)', text.strip().splitlines()[-1] if text.strip() else ''))
    if not found:
        raise Unreadable(text[-400:])
    return {k: float(v) for k, v in found.items()}


def durable(text):
    """The program "durable": {way: figures}. No figure without rounds."""
    try:
        got = json.loads(text.strip().splitlines()[-1])
        if not got.pop('rounds'):
            raise Unreadable(text[-400:])
        got.pop('domain')
        return got
    except (ValueError, IndexError, KeyError, AttributeError) as e:
        raise Unreadable(text[-400:]) from e


def iperf(result):
    """iperf3 -J: what the receiver got."""
    try:
        return {'bytes_s': result['end']['sum_received']['bits_per_second'] / 8}
    except KeyError as e:
        raise Unreadable(str(result.get('error', e))) from e


def icrc_choice(text):
    """The debugfs file cairn/icrc: the choice and nanoseconds for 4 KiB."""
    m = re.match(r'(.+); ns for 4 KiB:(( [\w ]+? \d+)+)$', text.strip())
    if not m:
        raise Unreadable(text)
    words = m.group(2).split()
    return {'choice': m.group(1),
            'ns': {words[i]: int(words[i + 1]) for i in range(0, len(words), 2)}}


def limit(icrc, cpus):
    """
    Bytes a second if there were only copying and the ICRC. Each end copies every byte
    once. The sender checksums it; the receiver, on the same host, does not. With two
    CPUs or more the ends work side by side.
    """
    copy, crc = icrc['ns']['copy'], icrc['ns'][icrc['choice']]
    return 4096e9 / (copy + crc if cpus > 1 else 2 * copy + crc)


def spread(values):
    """Median, least and greatest."""
    return {'median': statistics.median(values), 'min': min(values),
            'max': max(values), 'n': len(values)}


def key(run):
    """The measured point, the same for every stack."""
    return tuple(sorted((k, v) for k, v in run['point'].items()))


def summarise(runs):
    """{point key: {stack: {figure: spread}}}, in the order of first sight."""
    collected = {}
    for run in runs:
        if 'value' not in run:
            continue
        figures = collected.setdefault(key(run), {}).setdefault(run['stack'], {})
        for name, value in run['value'].items():
            figures.setdefault(name, []).append(value)
    return {k: {stack: {name: spread(v) for name, v in figures.items()}
                for stack, figures in stacks.items()}
            for k, stacks in collected.items()}


def ratio(stacks, figure, one, other):
    """Median of one stack over that of the other; None where one is missing."""
    try:
        a = stacks[one][figure]['median']
        b = stacks[other][figure]['median']
    except KeyError:
        return None
    return a / b if b else None


def deviations(found):
    """[(per cent, how much longer than it should be)] of the gaps of the bench "pacing"."""
    if 'gap' not in found:
        return []
    return [(percent, found[f'gap_{percent:02}']['median'] - found['gap']['median'])
            for percent in range(1, 100)]
