#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The Python module with devices, as KTAP.

python.py ADDRESS PAGE...           the tests; a PAGE has examples, ADDRESS is the other host's
python.py serve MEMORY ADDRESS PORT a target, until it is killed
"""
import doctest
import errno
import glob
import os
import signal
import subprocess
import sys
import unittest

import cairn
import ktap

if sys.argv[1] == 'serve':
    if sys.argv[2] == 'anonymous':
        memory = cairn.Region.anonymous(1 << 20)
    else:
        memory = cairn.Region.open(sys.argv[2], 1 << 20)
    served = cairn.Target(memory, sys.argv[3], int(sys.argv[4]))
    print('listening', flush=True)
    signal.pause()

address, *pages = sys.argv[1:]
EXAMPLES = doctest.ELLIPSIS


class Server:
    """A program in the other host's namespace that says when it listens."""

    def __init__(self, *command):
        self.process = subprocess.Popen(['ip', 'netns', 'exec', 'b', *command],
                                        stdout=subprocess.PIPE, text=True)
        if 'listening' not in self.process.stdout.readline():
            raise RuntimeError(command)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)
        # each thread stops by itself
        for path in glob.glob(f'/proc/{self.process.pid}/task/*/stat'):
            while True:
                with open(path, encoding='ascii') as file:
                    if file.read().rpartition(') ')[2].startswith('T'):
                        break

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)


class Across(unittest.TestCase):
    """A writer here, and targets on the other host."""

    def serve(self, memory, port):
        server = Server(sys.executable, __file__, 'serve', memory, address, str(port))
        self.addCleanup(server.kill)
        return server

    def log(self, name, port):
        server = Server('cairn_log', 'serve', '-m', name, '-p', str(port), '-s', '1M')
        self.addCleanup(server.kill)
        return server

    def test_each_kind(self):
        self.serve('/dev/dax0.0', 7501)
        self.serve('kinds', 7502)
        self.serve('anonymous', 7503)
        with cairn.Group([f'{address}:7501'], durability=cairn.Durability.ADR) as group:
            self.assertIn(group.write(4096, b'x' * 5000),
                          (cairn.Durability.ADR, cairn.Durability.EADR))
        both = [f'{address}:7501', f'{address}:7502']
        with cairn.Group(both) as group:
            self.assertEqual(len(group), 1 << 20)
            self.assertEqual(group.write(10, b'y' * 3000), cairn.Durability.HOST)
        with open('kinds', 'rb') as file:
            self.assertEqual(file.read()[10:3010], b'y' * 3000)
        with self.assertRaises(OSError) as caught:
            cairn.Group(both[1:], durability=cairn.Durability.ADR)
        self.assertIn('no persistent memory', str(caught.exception))
        with self.assertRaises(OSError) as caught:
            cairn.Group([f'{address}:7503'])
        self.assertIn('keeps nothing', str(caught.exception))

    def test_target_is_killed_and_comes_back(self):
        self.serve('stays', 7511)
        goes = self.serve('goes', 7512)
        both = [f'{address}:7511', f'{address}:7512']
        with cairn.Group(both, quorum=1, depth=8) as group:
            for i in range(50):
                group.post(8 * i, i.to_bytes(8, 'big'))
            group.wait()
            goes.kill()
            for i in range(50, 100):
                group.write(8 * i, i.to_bytes(8, 'big'))
            while 1 not in group.lost:
                group.write(0, bytes(8))
            self.assertEqual(list(group.lost), [1])
            with self.assertRaises(ConnectionRefusedError):
                group.join(1)
            self.serve('goes', 7512)
            group.join(1)
            self.assertFalse(group.lost)
            with self.assertRaises(OSError) as caught:
                group.join(1)
            self.assertEqual(caught.exception.errno, errno.EISCONN)
            group.drop(0)
            self.assertEqual(group.write(800, b'the rest'), cairn.Durability.HOST)
        with open('stays', 'rb') as file:
            kept = file.read(800)
        self.assertEqual(kept[8:], b''.join(i.to_bytes(8, 'big') for i in range(1, 100)))
        with open('goes', 'rb') as file:
            self.assertEqual(file.read(808)[800:], b'the rest')

    def test_too_few_targets(self):
        self.serve('first', 7521)
        second = self.serve('second', 7522)
        with cairn.Group([f'{address}:7521', f'{address}:7522'], deadline=60) as group:
            group.write(0, b'both')
            second.kill()
            with self.assertRaises(OSError) as caught:
                while True:
                    group.write(0, b'one')
            self.assertIn(caught.exception.errno, (errno.EIO, errno.ENOTCONN))
            self.assertIn(':7522', str(caught.exception))
            self.assertNotIn(':7521', str(caught.exception))

    def test_late_target(self):
        hangs = self.serve('hangs', 7531)
        with cairn.Group([f'{address}:7531'], deadline=0.5) as group:
            hangs.stop()
            with self.assertRaises(OSError) as caught:
                group.write(0, b'late')
            hangs.go_on()
            self.assertEqual(caught.exception.errno, errno.EIO)

    def test_arguments_of_messages(self):
        self.serve('arguments', 7541)
        group = cairn.Group([f'{address}:7541'], largest=4096)
        with group:
            for offset, length in ((-1, 1), (1 << 20, 1), ((1 << 20) - 1, 2)):
                with self.assertRaises(ValueError):
                    group.write(offset, bytes(length))
            with self.assertRaises(OSError) as caught:
                group.write(0, bytes(4097))
            self.assertEqual(caught.exception.errno, errno.EMSGSIZE)
            for number in (0, 1, 2):
                with self.assertRaises(ValueError):
                    group.wait(number)
            group.write((1 << 20) - 4096, memoryview(bytes(4096)))
        for call in (group.wait, lambda: group.write(0, b''), lambda: group.drop(0)):
            with self.assertRaises(ValueError):
                call()
        group.close()

    def test_log_loses_nothing(self):
        servers = [self.log(f'log{i}', 7551 + i) for i in range(3)]
        names = [f'{address}:{7551 + i}' for i in range(3)]
        sent = [f'record {i} '.encode() * (i % 40) for i in range(300)]
        with cairn.Log(names, create=True, quorum=2, deadline=30) as log:
            self.assertEqual((log.left, log.quorum), (3, 2))
            for data in sent[:100]:
                log.post(data)
            self.assertEqual(log.wait(), 100)
            servers[0].kill()
            for i in range(100, 300):
                self.assertEqual(log.append(sent[i]), i + 1)
            self.assertEqual(log.left, 2)
            with self.assertRaises(OSError) as caught:
                log.post(bytes(4097))
            self.assertEqual(caught.exception.errno, errno.EMSGSIZE)
        for name in ('log1', 'log2'):
            found = list(cairn.records(name))
            self.assertEqual([record.data for record in found], sent)
            self.assertEqual([record.seq for record in found], list(range(1, 301)))

    def test_log_has_one_writer(self):
        self.log('one', 7561)
        with cairn.Log([f'{address}:7561'], create=True) as first:
            first.append(b'1')
            with self.assertRaises(OSError) as caught:
                cairn.Log([f'{address}:7561'])
            self.assertEqual(caught.exception.errno, errno.EBUSY)
            with cairn.Log([f'{address}:7561'], takeover=True) as second:
                self.assertEqual(second.append(b'2'), 2)
                with self.assertRaises(OSError):
                    while True:
                        first.append(b'never')
        with self.assertRaises(ValueError):
            first.append(b'closed')
        self.assertEqual([record.data for record in cairn.records('one')], [b'1', b'2'])

    def test_log_is_full(self):
        self.log('full', 7571)
        with cairn.Log([f'{address}:7571'], create=True, largest=65000) as log:
            with self.assertRaises(OSError) as caught:
                while True:
                    log.post(bytes(65000))
            self.assertEqual(caught.exception.errno, errno.ENOSPC)
            last = log.wait()
        self.assertEqual(len(list(cairn.records('full'))), last)


class Examples(unittest.TestCase):
    def setUp(self):
        os.makedirs(self.id(), exist_ok=True)
        self.before = os.getcwd()
        os.chdir(self.id())

    def tearDown(self):
        os.chdir(self.before)

    def test_pages(self):
        found = [doctest.testfile(page, module_relative=False, optionflags=EXAMPLES)
                 for page in pages]
        self.assertGreater(sum(page.attempted for page in found), 35)
        self.assertEqual(sum(page.failed for page in found), 0)

    def test_help(self):
        for name in cairn.__all__:
            kind = getattr(cairn, name)
            for case in doctest.DocTestFinder().find(
                    kind, name, globs=vars(sys.modules[kind.__module__]).copy()):
                self.assertEqual(doctest.DocTestRunner().run(case).failed, 0, name)


ktap.main(sys.modules[__name__])
