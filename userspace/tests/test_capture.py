#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""cairn_capture with packets and events that are made here, as KTAP."""
import contextlib
import errno
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import ktap

TOOL = pathlib.Path(__file__).resolve().parent.parent / 'tools' / 'cairn_capture'
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader('capture', str(TOOL))
spec = importlib.util.spec_from_loader('capture', loader)
capture = importlib.util.module_from_spec(spec)
sys.modules['capture'] = capture
loader.exec_module(capture)

IFINDEX = 3
SEND, ACK = 0x04, 0x11
NOW = 100 * 10**9       # ns, of packets and events


def bodies(*parts):
    """BTH, payload and ICRC of each (opcode, qpn, psn, payload); the ICRC is to be made."""
    return [struct.pack('>BBHII', opcode, 0, 0xffff, qpn, psn) + payload
            for opcode, qpn, psn, payload in parts]


def frame(parts, ipv6=False, vlan=False):
    """One frame with these packets, as a netdev gets it that is to cut it."""
    ether = bytes(12) + (b'\x81\x00\x00\x07' if vlan else b'') + (b'\x86\xdd' if ipv6 else b'\x08\x00')
    at = len(ether)
    ip = struct.pack('>IHBB', 6 << 28, 0, 17, 64) + bytes(32) if ipv6 else \
        struct.pack('>BBHHHBBH', 0x45, 0, 0, 7, 0x4000, 64, 17, 0) + bytes((10, 0, 0, 1, 10, 0, 0, 2))
    headers = ether + ip + struct.pack('>HHHH', 50000, 4791, 0, 0)
    udp = at + len(ip)
    out = b''
    for number, part in enumerate(parts):
        own = capture.capture_headers(headers, at, udp, len(part) + 4, number)
        out += part + icrc_of(own, at, udp, part + bytes(4))
    return capture.capture_headers(headers, at, udp, len(out), 0) + out


def icrc_of(headers, at, udp, body):
    with unittest.mock.patch.object(capture.struct, 'pack', wraps=struct.pack) as pack:
        capture.capture_icrc_fits(headers, at, udp, body)
        value = pack.call_args[0][1]
    return struct.pack('<I', value)


def story(*lines):
    made = capture.Story(IFINDEX, 0)
    text = []
    for number, (qpn, event, rest) in enumerate(lines):
        text.append(f' prog [001] bNs2. {100 + number * 1e-5:12.6f}: cairn_{event}: '
                    f'ifindex={IFINDEX} qpn={qpn} {rest}')
    made.tell(capture.explain.explain_parse(text))
    return made


def packet(opcode, qpn, psn, sent, after_us=0):
    (made,) = capture.capture_packets(frame(bodies((opcode, qpn, psn, b''))),
                                      NOW + after_us * 1000, sent)
    return made


def comments(made, of, until=None):
    made.comment(of, until)
    return of.comments


SENT = (17, 'send', 'requests SEND opcode=0x4 psn=5 packets=1 length=64 syndrome=0x0')
REQUEST = (17, 'request', 'wr_id=0x2a SEND length=64 psn=5 psns=1 status=0')
ANSWERED = (17, 'received', 'responses ACK opcode=0x11 psn=5 length=0 syndrome=0x1f')
COMPLETED = (17, 'completed', 'send wr_id=0x2a opcode=0 length=64 status=0 vendor_err=0x0')


class Frames(unittest.TestCase):
    def test_a_packet_of_each_family(self):
        for ipv6 in (False, True):
            for vlan in (False, True):
                data = frame(bodies((SEND, 17, 5, b'1234')), ipv6, vlan)
                (found,) = capture.capture_packets(data, NOW, True)
                self.assertEqual((found.opcode, found.qpn, found.psn, found.good, found.frame),
                                 (SEND, 17, 5, True, data))

    def test_a_damaged_packet(self):
        data = bytearray(frame(bodies((SEND, 17, 5, b'1234'))))
        data[-6] ^= 1
        (found,) = capture.capture_packets(bytes(data), NOW, False)
        self.assertFalse(found.good)

    def test_a_train_is_cut(self):
        parts = bodies(*[(SEND, 17, 5 + i, bytes([i]) * 256) for i in range(4)], (SEND, 17, 9, b'end!'))
        found = capture.capture_packets(frame(parts), NOW, True)
        self.assertEqual([one.psn for one in found], [5, 6, 7, 8, 9])
        self.assertTrue(all(one.good for one in found))
        self.assertEqual(len(found[4].frame), len(frame(parts[4:])))

    def test_a_train_of_two_queue_pairs_is_cut(self):
        parts = bodies((SEND, 17, 5, b'a' * 64), (SEND, 18, 900, b'b' * 64))
        found = capture.capture_packets(frame(parts), NOW, True)
        self.assertEqual([(one.qpn, one.psn) for one in found], [(17, 5), (18, 900)])

    def test_others_are_left_out(self):
        data = frame(bodies((SEND, 17, 5, b'')))
        port = data[:36] + b'\x12\xb8' + data[38:]
        for other in (b'', data[:20], data[:12] + b'\x08\x06' + data[14:], port,
                      data[:20] + b'\x20\x00' + data[22:]):
            self.assertEqual(capture.capture_packets(other, NOW, True), [])

    def test_wrong_headers_are_left_out(self):
        data = frame(bodies((SEND, 17, 5, b'x' * 40)))
        # without words of its own the IP header is that of UDP, too: its length is the port
        short = data[:14] + b'\x40\x00\x12\xb7\x00\x30\x00\x00' + data[22:]
        six = frame(bodies((SEND, 17, 5, b'x' * 40)), ipv6=True)
        for other in (short, data[:14] + b'\x65' + data[15:], six[:14] + b'\x40' + six[15:]):
            self.assertEqual(capture.capture_packets(other, NOW, False), [])

    def test_random_bytes_do_no_harm(self):
        data = frame(bodies((SEND, 17, 5, b'x' * 40)))
        for length in range(len(data)):
            capture.capture_packets(data[:length], NOW, True)
            capture.capture_packets(data[:14] + os.urandom(length), NOW, True)


class Comments(unittest.TestCase):
    def test_a_request_names_its_work_request(self):
        made = story(REQUEST, SENT, ANSWERED, COMPLETED)
        made.owners[17] = 'process 7 (prog)'
        first, second = comments(made, packet(SEND, 99, 5, True, 11))
        self.assertEqual(first, 'sent by QP 17 of process 7 (prog)')
        self.assertEqual(second, 'work request 0x2a: SEND, 64 bytes, begun 11 us before, '
                                 'completed after 30 us: success')

    def test_a_retransmission_says_so(self):
        made = story(REQUEST, SENT, (17, 'send', SENT[2] + ' again'))
        of = packet(SEND, 99, 5, True, 21)
        self.assertEqual(comments(made, of)[0], 'sent by QP 17, again')
        self.assertEqual(of.local, 17)

    def test_an_answer(self):
        made = story(REQUEST, SENT, ANSWERED)
        of = packet(ACK, 17, 5, False, 15)
        self.assertEqual(comments(made, of), ['for QP 17'])
        self.assertEqual(of.local, 17)

    def test_why_the_protocol_dropped_it(self):
        received = (18, 'received', 'requests SEND opcode=0x4 psn=5 length=64 syndrome=0x0')
        made = story(received, (18, 'counted', 'duplicate_request by=1'),
                     (18, 'send', 'responses ACK opcode=0x11 psn=5 packets=1 length=0 syndrome=0x1f'),
                     (18, 'counted', 'out_of_sequence by=1'))
        self.assertEqual(comments(made, packet(SEND, 18, 5, False)),
                         ['for QP 18', 'duplicate_request: it had this request already'])

    def test_nothing_took_it(self):
        made = story(REQUEST)
        self.assertIn('no queue pair took it', comments(made, packet(SEND, 18, 5, False))[1])
        bad = packet(SEND, 18, 5, False)
        bad.good = False
        self.assertIn('rx_icrc_errors', comments(made, bad)[1])

    def test_each_event_is_for_one_packet(self):
        received = (18, 'received', 'requests SEND opcode=0x4 psn=5 length=64 syndrome=0x0')
        made = story(received)
        self.assertEqual(len(comments(made, packet(SEND, 18, 5, False))), 1)
        self.assertEqual(len(comments(made, packet(SEND, 18, 5, False))), 2)

    def test_the_first_of_two_answers_is_no_retransmission(self):
        answer = 'responses ACK opcode=0x11 psn=5 packets=1 length=0 syndrome=0x1f'
        made = story((18, 'send', answer), *[(19, 'doorbell', 'send index=1')] * 9,
                     (18, 'send', answer + ' again'))
        first, second = packet(ACK, 99, 5, True, 3), packet(ACK, 99, 5, True, 103)
        self.assertEqual(comments(made, first, second.when), ['sent by QP 18'])
        self.assertEqual(comments(made, second), ['sent by QP 18, again'])

    def test_a_transmission_that_was_lost_leaves_the_comment_to_the_next(self):
        made = story(SENT, *[(19, 'doorbell', 'send index=1')] * 9, (17, 'send', SENT[2] + ' again'))
        self.assertEqual(comments(made, packet(SEND, 99, 5, True, 103)), ['sent by QP 17, again'])

    def test_a_doubled_packet_has_one_transmission(self):
        made = story(SENT)
        for after in (3, 5):
            self.assertEqual(comments(made, packet(SEND, 99, 5, True, after)), ['sent by QP 17'])

    def test_two_arrivals_close_together(self):
        received = (18, 'received', 'requests SEND opcode=0x4 psn=5 length=64 syndrome=0x0')
        made = story(received, *[(19, 'doorbell', 'send index=1')] * 9, received,
                     (18, 'counted', 'duplicate_request by=1'))
        first, second = packet(SEND, 18, 5, False), packet(SEND, 18, 5, False, 95)
        self.assertEqual(comments(made, first, second.when), ['for QP 18'])
        self.assertEqual(comments(made, second), ['for QP 18',
                                                  'duplicate_request: it had this request already'])

    def test_a_lost_packet_leaves_the_event_to_its_successor(self):
        received = (18, 'received', 'requests SEND opcode=0x4 psn=5 length=64 syndrome=0x0')
        made = story((17, 'doorbell', 'send index=1'), *[(19, 'doorbell', 'send index=1')] * 99,
                     received)
        first, second = packet(SEND, 18, 5, False), packet(SEND, 18, 5, False, 990)
        self.assertEqual(len(comments(made, first, second.when)), 2)
        self.assertEqual(len(comments(made, second)), 1)

    def test_doorbells_name_a_process(self):
        found = capture.DOORBELL.search('       my prog-733   [001] ..... 36.5: cairn_doorbell: '
                                        'ifindex=3 qpn=17 send index=4')
        self.assertEqual((found['comm'].strip(), found['pid'], found['qpn']), ('my prog', '733', '17'))


class File(unittest.TestCase):
    def test_tshark_reads_it(self):
        one, other = packet(SEND, 99, 5, True), packet(ACK, 17, 5, False, 20)
        one.comments = ['first', 'second']
        with tempfile.TemporaryDirectory() as work:
            path = pathlib.Path(work) / 'made.pcapng'
            path.write_bytes(capture.capture_head('eth7') + capture.capture_write(one) +
                             capture.capture_write(other))
            data = path.read_bytes()
            # each block has its length at both ends
            at = blocks = 0
            while at < len(data):
                length = struct.unpack_from('<I', data, at + 4)[0]
                self.assertEqual(struct.unpack_from('<I', data, at + length - 4)[0], length)
                at, blocks = at + length, blocks + 1
            self.assertEqual((at, blocks), (len(data), 4))
            if not shutil.which('tshark'):
                self.skipTest('no tshark')
            run = subprocess.run(['tshark', '-n', '-r', str(path), '-T', 'fields', '-E', 'separator=|',
                                  '-e', 'frame.comment', '-e', 'frame.time_epoch',
                                  '-e', 'frame.interface_name', '-e', 'frame.packet_flags_direction'],
                                 capture_output=True, text=True, check=True)
        lines = [line.split('|') for line in run.stdout.splitlines()]
        self.assertEqual([line[0] for line in lines], ['first,second', ''])
        self.assertEqual(lines[1][1], '100.000020000')
        self.assertEqual(lines[0][2], 'eth7')
        self.assertEqual([int(line[3], 0) for line in lines], [2, 1])


class Sockets(unittest.TestCase):
    def test_packets_of_other_netdevs_are_never_taken(self):
        with unittest.mock.patch.object(capture.socket, 'socket') as made:
            capture.Wire('eth7')
        made.assert_called_once_with(socket.AF_PACKET, socket.SOCK_RAW, 0)
        made.return_value.bind.assert_called_once_with(('eth7', 3))


class Program(unittest.TestCase):
    def run_with(self, *arguments):
        out, messages = io.StringIO(), io.StringIO()
        with unittest.mock.patch.object(sys, 'argv', ['cairn_capture', *arguments]), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(messages):
            try:
                status = capture.main()
            except SystemExit as end:
                status = end.code
        return status, out.getvalue(), messages.getvalue()

    def test_wireshark_asks(self):
        status, out, _ = self.run_with('--extcap-interfaces', '--extcap-version=4.0')
        self.assertEqual((status, out.splitlines()[0]),
                         (0, 'extcap {version=1.0}{help=man:cairn_capture(1)}'))
        status, out, _ = self.run_with('--extcap-dlts', '--extcap-interface', 'cairn0')
        self.assertEqual((status, out), (0, 'dlt {number=1}{name=EN10MB}{display=Ethernet}\n'))
        status, out, _ = self.run_with('--extcap-config', '--extcap-interface', 'cairn0')
        self.assertEqual((status, out.count('arg {')), (0, 2))

    def test_a_capture_that_does_not_begin_leaves_the_file(self):
        with tempfile.TemporaryDirectory() as work:
            path = pathlib.Path(work) / 'earlier.pcapng'
            path.write_text('packets', encoding='ascii')
            for arguments in (['none0'], ['none0', '--', 'no-such-program'], ['-s', '-1', 'none0']):
                self.assertNotIn(self.run_with('-w', str(path), *arguments)[0], (0, None))
                self.assertEqual(path.read_text(encoding='ascii'), 'packets')
            # the device is there, and no tracepoints are
            with unittest.mock.patch.object(capture, 'capture_netdev', lambda device: 'eth7'), \
                    unittest.mock.patch.object(capture.explain, 'explain_ifindex', lambda device: 3), \
                    unittest.mock.patch.object(capture.explain, 'TRACING', pathlib.Path(work)):
                self.assertIn('no tracepoints', self.run_with('-w', str(path), 'none0')[0])
            self.assertEqual(path.read_text(encoding='ascii'), 'packets')

    def end_by(self, number, program, begins=False):
        """A signal ends a capture of @program, or comes while it @begins. Return: status,
        messages, file, and whether the program is there."""
        script = f'''
import sys
sys.path.insert(0, {str(pathlib.Path(__file__).resolve().parent)!r})
import test_capture
test_capture.signal.signal(test_capture.signal.SIGHUP, test_capture.signal.SIG_DFL)
class Popen(test_capture.capture.subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        test_capture.signal.raise_signal({int(number)})
if {begins}:
    test_capture.capture.subprocess.Popen = Popen
class Capture:
    written = 0
    def __init__(self, options, output):
        self.out = output()
    def look(self):
        pass
    def close(self):
        self.out.write(b'whole')
test_capture.capture.Capture = Capture
sys.argv = ['cairn_capture', '-w', sys.stdin.readline().strip(), 'cairn0', '--', 'sh', '-c',
            {program!r}]
sys.exit(test_capture.capture.main())
'''
        with tempfile.TemporaryDirectory() as work:
            path = pathlib.Path(work) / 'made.pcapng'
            with subprocess.Popen([sys.executable, '-c', script], stdin=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as run:
                run.stdin.write(f'{path}\n')
                run.stdin.flush()
                if not begins:
                    pid = int(run.stderr.readline())
                    run.send_signal(number)
                # ends when no process has stderr open
                _, messages = run.communicate(timeout=60)
            there = False
            if not begins:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 0)
                    there = True
            return run.returncode, messages, path.read_bytes(), there

    def test_a_signal_ends_the_program_and_the_capture_is_written(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self.assertEqual(self.end_by(number, 'echo $$ >&2; exec sleep 300'),
                             (0, '0 packets\n', b'whole', False))
            self.assertEqual(self.end_by(number, 'exec sleep 300', begins=True),
                             (0, '0 packets\n', b'whole', False))
        # one that does not hear
        self.assertEqual(self.end_by(signal.SIGTERM, 'trap "" TERM; echo $$ >&2; while :; do sleep 1; done'),
                         (0, '0 packets\n', b'whole', False))

    def test_an_output_that_fails_leaves_no_trace_instance(self):
        for error in (errno.ENOSPC, errno.EPIPE):
            made = capture.Capture.__new__(capture.Capture)
            made.options = unittest.mock.Mock(qpn=None, pid=None)
            made.story, made.packets = story(SENT), [packet(SEND, 99, 5, True)]
            made.written = 0
            made.trace, made.wire, made.out = (unittest.mock.Mock() for _ in range(3))
            made.trace.text = ''
            made.wire.read.return_value = []
            made.out.write.side_effect = OSError(error, 'made up')
            with unittest.mock.patch.object(capture, 'capture_owners'), \
                    self.assertRaises(OSError):
                made.close()
            made.trace.close.assert_called_once_with()
            made.wire.socket.close.assert_called_once_with()

    def test_processes_have_any_name(self):
        with tempfile.TemporaryDirectory() as work:
            rdma = pathlib.Path(work) / 'rdma'
            rdma.write_text('#!/bin/sh\n'
                            'printf \'[{"lqpn":17,"pid":7,"comm":"\\377"}]\'\n', encoding='ascii')
            rdma.chmod(0o755)
            owners = {}
            with unittest.mock.patch.dict(os.environ, {'PATH': f'{work}:/usr/bin:/bin'}):
                capture.capture_owners('cairn0', owners)
        self.assertEqual(owners, {17: 'process 7 (\ufffd)'})

    def test_wrong_arguments(self):
        self.assertEqual(self.run_with()[0], 2)
        for arguments in (['-s', 'nan'], ['-s', '-1'], ['-q', '-1'], ['-p', '0']):
            self.assertEqual(self.run_with(*arguments, 'none0')[0], 2)
        status, _, _ = self.run_with('-w', os.devnull, 'none0')
        self.assertIn('none0 is not an RDMA device', status)


if __name__ == '__main__':
    ktap.main(sys.modules[__name__])
