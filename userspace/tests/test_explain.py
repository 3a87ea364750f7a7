#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""cairn_explain with traces that are made here, as KTAP."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

import ktap

TOOL = pathlib.Path(__file__).resolve().parent.parent / 'tools' / 'cairn_explain'
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader('explain', str(TOOL))
spec = importlib.util.spec_from_loader('explain', loader)
explain = importlib.util.module_from_spec(spec)
sys.modules['explain'] = explain
loader.exec_module(explain)

A, B = (3, 17), (2, 18)
SVG = '{http://www.w3.org/2000/svg}'


class Trace:
    """Lines as the kernel writes them; each event is 10 us after the one before."""

    def __init__(self):
        self.lines, self.now = ['# tracer: nop', '#'], 100.0

    def add(self, end, event, rest, after=10):
        self.now += after / 1e6
        self.lines.append(f' prog-{end[1]}     [001] bNs2. {self.now:12.6f}: cairn_{event}: '
                          f'ifindex={end[0]} qpn={end[1]} {rest}')

    def request(self, end, psn, psns=1, wr_id=1, kind='SEND'):
        self.add(end, 'request', f'wr_id={wr_id:#x} {kind} length=4096 psn={psn} psns={psns} '
                                 'status=0')

    def send(self, end, psn, packets=1, kind='SEND', side='requests', again='', syndrome=0):
        self.add(end, 'send', f'{side} {kind} opcode=0x4 psn={psn} packets={packets} '
                              f'length=64 syndrome={syndrome:#x}{again}')

    def received(self, end, psn, kind='SEND', side='requests', syndrome=0):
        self.add(end, 'received', f'{side} {kind} opcode=0x4 psn={psn} length=64 '
                                  f'syndrome={syndrome:#x} ack_req')

    def completed(self, end, wr_id=1, status=0, queue='send'):
        self.add(end, 'completed', f'{queue} wr_id={wr_id:#x} opcode=0 length=64 '
                                   f'status={status} vendor_err=0x0')

    def exchange(self, psn, one=A, other=B, wr_id=1):
        self.request(one, psn, wr_id=wr_id)
        self.send(one, psn)
        self.received(other, psn)
        self.send(other, psn, kind='ACK', side='responses')
        self.received(one, psn, kind='ACK', side='responses')
        self.completed(one, wr_id)

    def events(self):
        return explain.explain_parse(self.lines)

    def connection(self, left=A):
        events = self.events()
        return explain.Connection(events, left, explain.explain_peers(events).get(left))

    def wires(self, left=A):
        return [row.wire for row in self.connection(left).rows if row.wire]


def run(*arguments):
    """Exit status, output and messages of the program."""
    out, messages = io.StringIO(), io.StringIO()
    with unittest.mock.patch.object(sys, 'argv', ['cairn_explain', *arguments]), \
            contextlib.redirect_stdout(out), contextlib.redirect_stderr(messages):
        try:
            status = explain.main()
        except SystemExit as end:
            status = end.code
    return status, out.getvalue(), messages.getvalue()


class Packets(unittest.TestCase):
    def test_what_arrives_is_told_once(self):
        trace = Trace()
        trace.exchange(5)
        rows = trace.connection().rows
        self.assertEqual([row.wire for row in rows if row.wire], ['SEND 0', 'ACK 0'])
        self.assertEqual([row.from_left for row in rows if row.wire], [True, False])
        self.assertEqual([row.left for row in rows if row.left],
                         ['SEND 0x1, 4096 bytes, PSN 0', 'send completion 0x1 after 50 us'])

    def test_packets_that_never_arrive_are_lost(self):
        trace = Trace()
        trace.exchange(5)
        trace.send(A, 6, packets=4)
        trace.received(B, 7)
        trace.send(A, 6, again=' again')
        trace.received(B, 6)
        trace.send(A, 8, packets=2, again=' again')
        self.assertEqual(trace.wires()[2:], ['SEND 1-4, lost: 1 3-4', 'SEND 1 again',
                                             'SEND 3-4 again, lost'])
        connection = trace.connection()
        self.assertEqual((connection.sums['lost'], connection.sums['sent again']), (5, 3))

    def test_a_peer_elsewhere_loses_nothing(self):
        trace = Trace()
        trace.send(A, 5)
        trace.received(A, 5, kind='ACK', side='responses')
        connection = trace.connection()
        self.assertIsNone(connection.right)
        self.assertEqual([(row.wire, row.from_left, row.lost) for row in connection.rows],
                         [('SEND 0', True, False), ('ACK 0', False, False)])

    def test_a_packet_that_comes_twice(self):
        trace = Trace()
        trace.send(A, 5)
        trace.received(B, 5)
        trace.received(B, 5)
        self.assertEqual(trace.wires(), ['SEND 0, 1 twice'])

    def test_late_packets_are_not_lost(self):
        trace = Trace()
        trace.send(A, 5)
        trace.send(A, 5, again=' again')
        trace.received(B, 5)
        self.assertEqual(trace.wires(), ['SEND 0, lost', 'SEND 0 again'])
        trace.received(B, 5)
        self.assertEqual(trace.wires(), ['SEND 0', 'SEND 0 again'])

    def test_psns_wrap_around(self):
        trace = Trace()
        trace.request(A, 0xffffff, psns=3)
        trace.send(A, 0xffffff, packets=3)
        for psn in (0xffffff, 0, 1):
            trace.received(B, psn)
        rows = trace.connection().rows
        self.assertEqual(rows[0].left, 'SEND 0x1, 4096 bytes, PSN 0-2')
        self.assertEqual((rows[1].wire, rows[1].lost), ('SEND 0-2', False))

    def test_each_direction_has_its_psns(self):
        trace = Trace()
        trace.exchange(5)
        trace.exchange(0x900000, B, A)
        self.assertEqual(trace.wires(), ['SEND 0', 'ACK 0', 'SEND 0', 'ACK 0'])

    def test_naks_are_named(self):
        trace = Trace()
        trace.exchange(5)
        for syndrome in (0x60, 0x62, 0x2a):
            trace.send(B, 6, kind='ACK', side='responses', syndrome=syndrome)
            trace.received(A, 6, kind='ACK', side='responses', syndrome=syndrome)
        self.assertEqual(trace.wires()[2:], ['NAK (PSN sequence error) 1',
                                             'NAK (remote access error) 1',
                                             'RNR NAK (wait 0.32 ms) 1'])


class Ends(unittest.TestCase):
    def test_one_number_in_two_namespaces(self):
        trace = Trace()
        trace.exchange(5, (2, 17), (3, 17))
        peers = explain.explain_peers(trace.events())
        self.assertEqual(peers, {(2, 17): (3, 17), (3, 17): (2, 17)})

    def test_other_connections_are_left_out(self):
        trace = Trace()
        for number in range(3):
            trace.exchange(5 + number)
            trace.exchange(5 + number, (3, 27), (2, 28))
            trace.exchange(900 + number, (3, 1), (2, 1))
            trace.exchange(910 + number, (3, 1), (2, 1))
        trace.exchange(8)
        events = trace.events()
        self.assertEqual(explain.explain_busiest(events, 3, None), A)
        self.assertEqual(explain.explain_busiest(events, 3, 27), (3, 27))
        self.assertEqual(explain.explain_busiest(events, 3, 1), (3, 1))
        self.assertIsNone(explain.explain_busiest(events, 3, 18))
        connection = trace.connection()
        self.assertEqual({event.end for event in connection.events}, {A, B})


class Times(unittest.TestCase):
    def test_a_completion_is_timed_if_its_request_is_known(self):
        trace = Trace()
        trace.exchange(5, wr_id=7)
        trace.request(A, 6, wr_id=8)
        trace.request(A, 7, wr_id=8)
        trace.completed(A, 8)
        trace.completed(A, 9, status=12)
        texts = [row.left for row in trace.connection().rows if 'completion' in row.left]
        self.assertEqual(texts, ['send completion 0x7 after 50 us', 'send completion 0x8',
                                 'send completion 0x9: retries exceeded'])

    def test_long_waits_have_a_row(self):
        trace = Trace()
        trace.exchange(5)
        trace.add(A, 'counted', 'ack_timeouts by=1', after=67000)
        trace.exchange(6)
        rows = trace.connection().rows
        place = [row.wire for row in rows].index('(67 ms pass)')
        self.assertEqual(rows[place + 1].left, 'ack_timeouts: no answer in time')
        self.assertEqual([row.wire for row in rows].count('(67 ms pass)'), 1)

    def test_events_of_several_cpus_are_put_in_order(self):
        trace = Trace()
        trace.exchange(5)
        trace.lines.reverse()
        self.assertEqual(trace.wires(), ['SEND 0', 'ACK 0'])


class Program(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = directory.name
        self.file = os.path.join(self.dir, 'trace')

    def kept(self, lines):
        pathlib.Path(self.file).write_text('\n'.join(lines) + '\n', encoding='ascii')
        return self.file

    def test_the_drawing_has_an_arrow_for_each_row_of_packets(self):
        trace = Trace()
        trace.exchange(5)
        trace.send(A, 6)
        svg = os.path.join(self.dir, 'a.svg')
        status, out, _ = run('--read', self.kept(trace.lines), '--svg', svg)
        self.assertEqual(status, 0)
        self.assertIn('SEND 1, lost --x', out)
        tree = xml.etree.ElementTree.parse(svg).getroot()
        arrows = [line.get('marker-end') for line in tree.iter(SVG + 'line')][2:]
        self.assertEqual(arrows, ['url(#end)', 'url(#end)', None])
        self.assertIn('\u00d7', [text.text for text in tree.iter(SVG + 'text')])

    def test_the_number_of_rows_is_bounded(self):
        trace = Trace()
        for psn in range(50):
            trace.exchange(psn)
        _, out, _ = run('--read', self.kept(trace.lines), '-n', '10')
        self.assertEqual(len(out.splitlines()), 12)

    def test_what_cannot_be_told_is_said(self):
        trace = Trace()
        trace.exchange(5)
        empty = os.path.join(self.dir, 'empty')
        pathlib.Path(empty).write_text('nothing\n', encoding='ascii')
        for arguments, status, message in (
                (['--read', empty], 1, 'no packets of any queue pair'),
                (['--read', os.path.join(self.dir, 'none')], 1, 'No such file'),
                (['--read', self.kept(trace.lines), '99'], 1, 'no packets of queue pair 99'),
                (['--read', self.file, 'x'], 2, 'no number'),
                (['--read', self.file, '--', 'true'], 2, 'too many'),
                ([], 2, 'no device'),
                (['none0'], 'cairn_explain: none0 is not an RDMA device', '')):
            with self.subTest(arguments):
                found, _, messages = run(*arguments)
                if isinstance(status, str):
                    self.assertIn(status, found)
                else:
                    self.assertEqual(found, status)
                self.assertIn(message, messages)
        pathlib.Path(self.file).write_bytes(b'\xff\xfe')
        self.assertEqual(run('--read', self.file)[0], 1)

    def test_lines_that_are_no_events_are_passed_over(self):
        trace = Trace()
        trace.exchange(5)
        lines = trace.lines + ['CPU:1 [LOST 12 EVENTS]', ' 1.0: cairn_send: ifindex=x', '',
                               ' 1.0: cairn_send: ifindex=3 qpn=17 requests SEND psn=5',
                               ' 1.0: cairn_send: ifindex=3 qpn=17 ',
                               ' 1.0: cairn_rate_turn: ifindex=3 qpn=17 requests kbps=1']
        self.assertEqual(run('--read', self.kept(lines))[0], 0)


if __name__ == '__main__':
    ktap.main(sys.modules[__name__])
