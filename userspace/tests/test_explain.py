#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""cairn_explain with traces that are made here, as KTAP."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

import ktap
import test_capture

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


OPCODES = {'SEND': 0x04, 'FIRST': 0x00, 'MIDDLE': 0x01, 'LAST': 0x02, 'ACK': 0x11,
           'READ_REQ': 0x0c, 'READ_RESP': 0x10}


class Captured:
    """A file of cairn_capture: the packets of ends in a trace, which the comments come from."""

    def __init__(self, trace, *ends, damaged=()):
        self.data = b''
        for end in ends or (A,):
            made = test_capture.capture.Story(end[0], 0)
            made.tell(trace.events())
            made.owners[end[1]] = f'process 7 (prog{end[1]})'
            self.data += test_capture.capture.capture_head(f'eth{end[0]}')
            for packet in self.packets(trace, end, damaged):
                made.comment(packet, None)
                self.data += test_capture.capture.capture_write(packet)

    @staticmethod
    def packets(trace, end, damaged):
        for event in trace.events():
            if event.end != end or event.name not in ('send', 'received'):
                continue
            sent = event.name == 'send'
            to = end if sent == (end == B) else B
            opcodes = [OPCODES[event.words[1]]]
            if event.values.get('packets', 1) > 1:
                opcodes = [0, *[1] * (event.values['packets'] - 2), 2]
            for step, opcode in enumerate(opcodes):
                psn = (event.values['psn'] + step) % explain.PSNS
                data = struct.pack('>I', event.values['syndrome'] << 24)
                frame = test_capture.frame(test_capture.bodies((opcode, to[1], psn, data)))
                when = round(event.time * 1e3)
                (packet,) = test_capture.capture.capture_packets(frame, when, sent)
                packet.good = psn not in damaged
                yield packet

    def file(self, path):
        pathlib.Path(path).write_bytes(self.data)
        return str(path)

    def connection(self, left=None):
        made = explain.Capture(self.data)
        left = left or min(made.names)
        return explain.Connection(made.events, left, explain.explain_peers(made.events).get(left),
                                  made)

    def told(self):
        """Rows without their times."""
        return [(row.left, row.wire, row.right) for row in self.connection().rows]


class Captures(unittest.TestCase):
    def test_it_is_told_as_the_trace_is(self):
        trace = Trace()
        trace.exchange(5)
        trace.exchange(6, wr_id=2)
        made = Captured(trace).connection()
        events = [event for event in trace.events() if event.end == A]
        other = explain.Connection(events, A, None)
        for ours, theirs in zip(made.rows, other.rows):
            self.assertAlmostEqual(ours.time - made.rows[0].time, theirs.time - other.rows[0].time,
                                   delta=1)
            self.assertEqual((ours.left, ours.wire, ours.right, ours.from_left),
                             (theirs.left, theirs.wire, theirs.right, theirs.from_left))
        self.assertEqual((len(made.rows), made.sums), (len(other.rows), other.sums))
        self.assertEqual(made.names, ['QP 17 (eth3), process 7 (prog17)',
                                      'QP 18 of 10.0.0.2, not captured'])
        self.assertIn('what the peer got', made.note)

    def test_a_message_is_one_request(self):
        trace = Trace()
        trace.request(A, 0xffffff, psns=4)
        trace.send(A, 0xffffff, packets=4)
        trace.request(A, 3, psns=2)
        trace.send(A, 3, packets=2)
        trace.send(A, 0, packets=3, again=' again')
        rows = Captured(trace).told()
        self.assertEqual([row[0] for row in rows if row[0]],
                         ['SEND 0x1, 4096 bytes, PSN 0-3', 'SEND 0x1, 4096 bytes, PSN 4-5'])
        self.assertEqual([row[1] for row in rows if row[1]],
                         ['SEND 0-3', 'SEND 4-5', 'SEND 1-3 again'])

    def test_the_first_packet_of_a_message_comes_late(self):
        trace = Trace()
        trace.request(A, 5, psns=3)
        trace.send(A, 6, kind='MIDDLE')
        trace.send(A, 7, kind='LAST')
        trace.send(A, 5, kind='FIRST', again=' again')
        rows = Captured(trace).told()
        self.assertEqual([row[0] for row in rows if row[0]], ['SEND 0x1, 4096 bytes, PSN 0-2'])
        self.assertEqual([row[1] for row in rows if row[1]], ['SEND 1', 'SEND 2', 'SEND 0 again'])

    def test_the_answers_to_a_read_are_its_own(self):
        trace = Trace()
        trace.request(A, 5, psns=3, kind='READ')
        trace.send(A, 5, kind='READ_REQ')
        for psn in (5, 6, 7):
            trace.received(A, psn, kind='READ_RESP', side='responses')
        self.assertEqual(Captured(trace).told()[0][0], 'READ 0x1, 4096 bytes, PSN 0-2')

    def test_naks_and_statuses_are_told(self):
        trace = Trace()
        trace.request(A, 5)
        trace.send(A, 5)
        trace.received(A, 5, kind='ACK', side='responses', syndrome=0x62)
        trace.completed(A, status=10)
        self.assertEqual(Captured(trace).told()[2:],
                         [('', 'NAK (remote access error) 0', ''),
                          ('send completion 0x1: remote access error after 30 us', '', '')])

    def test_why_a_packet_was_dropped(self):
        trace = Trace()
        trace.received(A, 5)
        trace.add(A, 'counted', 'duplicate_request by=1')
        rows = Captured(trace).told()
        self.assertEqual(rows, [('', 'SEND 0', ''),
                                ('duplicate_request: it had this request already', '', '')])
        lost = Trace()
        lost.received(A, 5)
        for damaged, why in (((), 'no queue pair took it'),
                             ((5,), 'dropped: the ICRC is wrong (rx_icrc_errors)')):
            made = test_capture.capture.Story(3, 0)
            made.tell([])
            (packet,) = Captured.packets(lost, A, damaged)
            made.comment(packet, None)
            file = explain.Capture(test_capture.capture.capture_head('eth3') +
                                   test_capture.capture.capture_write(packet))
            connection = explain.Connection(file.events, (0, 17), None, file)
            self.assertEqual([row.left for row in connection.rows], ['', why])
            self.assertEqual(connection.sums['dropped'], 1)

    def test_requests_of_one_number_have_one_completion(self):
        trace = Trace()
        for psn in (5, 6, 7):
            trace.request(A, psn)
            trace.send(A, psn)
        trace.completed(A)
        texts = [row[0] for row in Captured(trace).told() if 'completion' in row[0]]
        self.assertEqual(texts, ['send completion 0x1'])

    def test_files_as_other_programs_write_them_again(self):
        def block(kind, body):
            length = struct.pack('>I', len(body) + 12)
            return struct.pack('>I', kind) + length + body + length

        trace = Trace()
        trace.send(A, 5)
        (packet,) = Captured.packets(trace, A, ())
        frame = packet.frame + bytes(-len(packet.frame) % 4)
        comment = b'sent by QP 17, again'
        head = block(0x0a0d0d0a, struct.pack('>IHHq', 0x1a2b3c4d, 1, 0, -1)) + \
            block(1, struct.pack('>HHI', 1, 0, 0)) + block(4, bytes(4))
        made = explain.Capture(b''.join(head + block(6, struct.pack(
            '>5I', 0, 0, time, len(packet.frame), len(packet.frame)) + frame + struct.pack(
                '>HH', 1, len(comment)) + comment) for time in (1000, 3000)))
        self.assertEqual([(event.end, event.time, event.words[-1]) for event in made.events],
                         [((0, 17), 0, 'again'), ((1, 17), 2000, 'again')])
        self.assertEqual(made.names[0, 17], 'QP 17 (interface 0)')

    def test_both_ends_of_a_merged_file(self):
        trace = Trace()
        trace.exchange(5)
        trace.request(A, 6)
        trace.send(A, 6)
        trace.exchange(7)
        made = Captured(trace, A, B).connection()
        self.assertEqual([row.wire for row in made.rows if row.wire],
                         ['SEND 0', 'ACK 0', 'SEND 1, lost', 'SEND 2', 'ACK 2'])
        self.assertEqual(made.names[1], 'QP 18 (eth2), process 7 (prog18)')
        self.assertNotIn('peer', made.note)

    def test_packets_without_a_comment_belong_to_their_neighbours(self):
        trace = Trace()
        trace.exchange(5)
        made = Captured(trace)
        trace.send(A, 6)
        plain = list(Captured.packets(trace, A, ()))[-1]
        made.data += test_capture.capture.capture_write(plain)
        self.assertEqual(made.told()[-1], ('', 'SEND 1', ''))
        self.assertEqual(explain.Capture(made.data).unknown, 0)


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
                (['--read', self.file, '\u00b2'], 2, 'no number'),
                (['--read', self.file, '-n', '0'], 2, 'no number from 1'),
                (['-s', '-1', 'none0'], 2, 'no time'),
                (['-s', 'nan', 'none0'], 2, 'no time'),
                (['-s', '1e30', 'none0'], 2, 'no time'),
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

    def test_a_capture_is_read(self):
        trace = Trace()
        trace.exchange(5)
        svg = os.path.join(self.dir, 'a.svg')
        status, out, messages = run('--read', Captured(trace).file(self.file), '--svg', svg)
        self.assertEqual((status, messages), (0, ''))
        self.assertIn('SEND 0 -->', out)
        self.assertIn('Not in a capture: ', out.splitlines()[-1])
        texts = [text.text for text in xml.etree.ElementTree.parse(svg).getroot().iter(SVG + 'text')]
        self.assertIn('QP 17 (eth3), process 7 (prog17)', texts)
        self.assertEqual(texts[-1], out.splitlines()[-1])
        self.assertEqual(run('--read', self.file, '99')[0], 1)
        self.assertEqual(run('--read', self.file, '--save', self.file)[0], 2)

    def test_a_capture_gives_the_terminal_no_orders(self):
        trace = Trace()
        trace.exchange(5)
        data = Captured(trace).data.replace(b'prog17', b'\x1b[2J\x9b!').replace(b'eth3', b'e\rh3')
        pathlib.Path(self.file).write_bytes(data)
        status, out, _ = run('--read', self.file)
        self.assertEqual(status, 0)
        self.assertIn('QP 17 (e\ufffdh3), process 7 (\ufffd[2J\ufffd!)', out)

    def test_programs_have_any_name(self):
        trace = Trace()
        trace.exchange(5)
        data = '\n'.join(trace.lines).encode().replace(b' prog-17', b' \xff\x1b[2J\x0b-17')
        data = data.replace(b'SEND', b'SE\x1bND')
        pathlib.Path(self.file).write_bytes(data)
        kept = os.path.join(self.dir, 'kept')
        status, out, messages = run('--read', self.file, '--save', kept)
        self.assertEqual((status, messages), (0, ''))
        self.assertIn('SE\ufffdND 0 -->', out)
        self.assertEqual(pathlib.Path(kept).read_bytes(), data)

    def test_an_output_that_takes_nothing(self):
        trace = Trace()
        trace.exchange(5)
        with open('/dev/full', 'wb') as full:
            made = subprocess.run([sys.executable, TOOL, '--read', self.kept(trace.lines)], stdout=full,
                                  stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((made.returncode, made.stderr),
                         (1, 'cairn_explain: output: No space left on device\n'))

    def test_a_terminal_that_closes_leaves_no_trace_instance(self):
        before = signal.getsignal(signal.SIGHUP)
        self.addCleanup(signal.signal, signal.SIGHUP, before)
        for handler, then in ((signal.SIG_DFL, signal.default_int_handler),
                              (signal.SIG_IGN, signal.SIG_IGN)):
            signal.signal(signal.SIGHUP, handler)
            run('--read', self.kept(['none']))
            self.assertEqual(signal.getsignal(signal.SIGHUP), then)

    def test_captures_of_others_are_refused(self):
        trace = Trace()
        trace.exchange(5)
        packets = list(Captured.packets(trace, A, ()))
        plain = test_capture.capture.capture_head('eth3') + \
            b''.join(map(test_capture.capture.capture_write, packets))
        for data, message in ((plain, '2 RoCEv2 packets, and no comment of cairn_capture'),
                              (b'\xd4\xc3\xb2\xa1' + bytes(20), 'a pcap file, which has no comments'),
                              (b'\x1f\x8b\x08\xff', 'neither the text of a trace nor a capture')):
            pathlib.Path(self.file).write_bytes(data)
            status, _, messages = run('--read', self.file)
            self.assertEqual(status, 1)
            self.assertIn(message, messages)

    def test_damaged_captures_are_refused(self):
        trace = Trace()
        trace.exchange(5)
        data = Captured(trace).data
        pathlib.Path(self.file).write_bytes(data[:-4])
        status, _, messages = run('--read', self.file)
        self.assertEqual(status, 1)
        self.assertIn('the capture is damaged, or cut off, at byte', messages)
        damaged = [data[:length] for length in range(4, len(data))]
        damaged += [data[:place] + bytes((value,)) + data[place + 1:]
                    for place in range(4, len(data)) for value in (0, data[place] ^ 0x80, 0xff)]
        refused = 0
        for one in damaged:
            try:
                made = explain.explain_open(one)
            except ValueError as error:
                self.assertRegex(str(error), 'damaged, or cut off, at byte|no comment of cairn_capture')
                refused += 1
                continue
            end = explain.explain_busiest(made.events, None, None)
            if end is not None:
                explain.explain_svg(explain.Connection(made.events, end, None, made))
        self.assertGreater(refused, len(data))

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
