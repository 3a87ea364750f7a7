#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The Python module without a device, as KTAP.

test_python.py DIRECTORY FLAG...    the flags are those of the C compiler
"""
import ctypes
import doctest
import errno
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

import cairn
import ktap
from cairn import _abi, _cm, group, log

work, flags = sys.argv[1], sys.argv[2:]


def c_program(body):
    """The output of a program that includes the headers."""
    code = os.path.join(work, 'test.c')
    with open(code, 'w', encoding='ascii') as file:
        file.write('#include <netinet/in.h>\n#include <stddef.h>\n#include <stdio.h>\n'
                   '#include <rdma/rdma_cma.h>\n#include <infiniband/cairndv.h>\n'
                   '#include "log_group.h"\n#include "log_python.h"\n#include "log_wire.h"\n'
                   'int main(void)\n{\n' + body + '}\n')
    program = os.path.join(work, 'test')
    subprocess.run(['cc', *flags, '-o', program, code], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


class Abi(unittest.TestCase):
    def test_structures_are_those_of_the_headers(self):
        body, expected = '', []
        for kind, name in _abi.LAYOUTS.items():
            for field, *_ in kind._fields_:
                body += (f'printf("{name} {field} %zu %zu\\n", offsetof({name}, {field}), '
                         f'sizeof((({name} *)0)->{field}));\n')
                at = getattr(kind, field)
                size = at.size
                if (kind, field) == (_abi.CmEvent, 'param'):    # a union; conn is its first
                    size = None
                expected.append((name, field, at.offset, size))
            if kind not in _abi.BEGINNINGS:
                body += f'printf("{name} - %zu 0\\n", sizeof({name}));\n'
                expected.append((name, '-', ctypes.sizeof(kind), 0))
        found = [line.rsplit(None, 3) for line in c_program(body).splitlines()]
        self.assertEqual(len(found), len(expected))
        for (name, field, offset, size), want in zip(found, expected):
            self.assertEqual((name, field, int(offset)), want[:3])
            if want[3] is not None:
                self.assertEqual(int(size), want[3], f'{name}.{field}')

    def test_constants_are_those_of_the_headers(self):
        out = c_program(''.join(f'printf("%lld\\n", (long long){name});\n'
                                for name in _abi.CONSTANTS))
        self.assertEqual([int(line) for line in out.split()], list(_abi.CONSTANTS.values()))

    def test_every_structure_is_compared(self):
        kinds = {value for value in vars(_abi).values()
                 if isinstance(value, type) and issubclass(value, ctypes.Structure)}
        self.assertEqual(kinds, set(_abi.LAYOUTS))


class Names(unittest.TestCase):
    def test_targets(self):
        self.assertEqual(_cm.split('10.0.0.1:7471'), ('10.0.0.1', '7471'))
        for bad in ('', '10.0.0.1', ':1', 'h:', 'h:0', 'h:65536', 'h:x', '::1', 'fd77::1:71'):
            with self.assertRaises(ValueError, msg=bad):
                _cm.split(bad)

    def test_answers(self):
        place = _cm.Place(1 << 40, 4096, 77, 2)
        self.assertEqual(_cm.unpack_answer(_cm.pack_answer(place) + b'\0' * 9), place)
        for bad in (b'', _cm.pack_answer(place)[:-1], b'x' + _cm.pack_answer(place)[1:]):
            with self.assertRaises(OSError) as caught:
                _cm.unpack_answer(bad)
            self.assertEqual(caught.exception.errno, errno.EPROTO)

    def test_documented_examples_without_a_device(self):
        for module, name in ((_cm, 'split'), (log, 'records'), (cairn.region, 'Region'),
                             (cairn.faults, '_gid')):
            for case in doctest.DocTestFinder(recurse=False).find(getattr(module, name), name,
                                                                  globs=vars(module)):
                self.assertTrue(case.examples, name)
                self.assertEqual(doctest.DocTestRunner().run(case).failed, 0, name)


class Regions(unittest.TestCase):
    def setUp(self):
        self.path = os.path.join(work, self.id())

    def test_file_keeps_what_was_flushed(self):
        with cairn.Region.open(self.path, 12288) as region:
            self.assertEqual((region.domain, len(region)), (cairn.Domain.HOST, 12288))
            region.write(5000, b'kept')
            region.write(9000, b'lost')
            region.flush(4096, 4096)
        with cairn.Region.open(self.path) as region:
            self.assertEqual(region.read(5000, 4), b'kept')
            self.assertEqual(region.read(9000, 4), bytes(4))

    def test_ranges_of_messages_are_written(self):
        with cairn.Region.open(self.path, 8192) as region:
            region.write(100, b'a' * 50)
            region.write(8000, b'b' * 192)
            base = region.address
            ranges = (_abi.ChainRange * 2)((base + 100, 50), (base + 8000, 192))
            self.assertEqual(region._flush_ranges(None, ranges, 2), 0)
        with open(self.path, 'rb') as file:
            self.assertEqual(file.read()[100:150] + file.read(), b'a' * 50)
        self.assertEqual(os.path.getsize(self.path), 8192)

    def test_failure_of_the_file_is_the_answer(self):
        with cairn.Region.open(self.path, 4096) as region:
            kept = region._fd
            region._fd = os.open('/dev/full', os.O_RDWR)
            ranges = (_abi.ChainRange * 1)((region.address, 8))
            self.assertEqual(region._flush_ranges(None, ranges, 1), errno.ENOSPC)
            os.close(region._fd)
            region._fd = kept

    def test_any_exception_is_a_failure(self):
        with cairn.Region.open(self.path, 4096) as region:
            ranges = (_abi.ChainRange * 1)((region.address, 8))
            flush = _abi.CHAIN_FLUSH(region._flush_ranges)
            for error in MemoryError, ValueError, KeyboardInterrupt:
                with unittest.mock.patch.object(os, 'fdatasync', side_effect=error), \
                        unittest.mock.patch('traceback.print_exc') as told:
                    self.assertEqual(flush(None, ranges, 1), errno.EIO)
                    told.assert_called_once()
            self.assertEqual(flush(None, ranges, 1), 0)

    def test_failure_is_told_to_each_thread(self):
        # an error of the disk is told once, to the first fdatasync()
        lost, written, go_on = [], threading.Event(), threading.Event()
        answers = []

        def pwrite(_fd, data, offset):
            lost.append(offset)
            if offset == 4096:
                written.set()
                go_on.wait(0.2)
            return len(data)

        def fdatasync(_fd):
            failed = lost[:]
            lost.clear()
            if failed:
                raise OSError(errno.EIO, 'of the disk')

        def target():
            written.wait()
            ranges = (_abi.ChainRange * 1)((region.address, 8))
            answers.append(region._flush_ranges(None, ranges, 1))
            go_on.set()

        with cairn.Region.open(self.path, 8192) as region, \
                unittest.mock.patch.object(os, 'pwrite', pwrite), \
                unittest.mock.patch.object(os, 'fdatasync', fdatasync):
            other = threading.Thread(target=target)
            other.start()
            with self.assertRaises(OSError):
                region.flush(4096, 8)
            other.join()
            self.assertEqual(answers, [errno.EIO])

    def test_second_process_is_refused(self):
        with cairn.Region.open(self.path, 4096), self.assertRaises(OSError) as caught:
            cairn.Region.open(self.path)
        self.assertEqual(caught.exception.errno, errno.EBUSY)

    def test_other_programs_are_refused(self):
        program = os.path.join(os.environ['LD_LIBRARY_PATH'], 'cairn_log')
        with cairn.Region.open(self.path, 1 << 20):
            refused = subprocess.run([program, 'wipe', '-m', self.path], capture_output=True, text=True,
                                     check=False)
        self.assertEqual((refused.returncode, 'another cairn_log writes it' in refused.stderr), (1, True))
        self.assertEqual(subprocess.run([program, 'wipe', '-m', self.path], check=False).returncode, 0)

    def test_file_and_name_are_durable_when_it_is_opened(self):
        # as after a process that was killed before its fsync(); the name is a link
        with open(self.path, 'wb') as file:
            file.truncate(4096)
        there = tempfile.mkdtemp(dir=work)
        link = os.path.join(there, 'link')
        os.symlink(self.path, link)
        for name in (self.path, link):
            synced = []
            with unittest.mock.patch.object(os, 'fsync', lambda fd: synced.append(os.fstat(fd).st_ino)):
                cairn.Region.open(name).close()
            self.assertEqual(synced, [os.stat(self.path).st_ino, os.stat(work).st_ino])

    def test_wrong_media_and_sizes(self):
        open(self.path, 'w', encoding='ascii').close()
        with self.assertRaises(ValueError):
            cairn.Region.open(self.path)
        with self.assertRaises(IsADirectoryError):
            cairn.Region.open(work)
        with self.assertRaises(OSError):
            cairn.Region.open('/dev/null')
        for size in (0, -1):
            with self.assertRaises(ValueError):
                cairn.Region.anonymous(size)

    def test_ranges_are_checked(self):
        with cairn.Region.anonymous(4096) as region:
            for offset, length in ((-1, 1), (0, 4097), (4096, 1), (0, -1)):
                with self.assertRaises(ValueError):
                    region.read(offset, length)
            with self.assertRaises(ValueError):
                region.write(4090, b'1234567')

    def test_served_region_stays_open(self):
        region = cairn.Region.anonymous(4096)
        region._users = 1
        with self.assertRaises(OSError) as caught:
            region.close()
        self.assertEqual(caught.exception.errno, errno.EBUSY)
        region._users = 0
        region.close()
        region.close()


class Arguments(unittest.TestCase):
    def test_group(self):
        for bad in (([],), ('10.0.0.1:1',), (['nowhere'],)):
            with self.assertRaises(ValueError):
                cairn.Group(*bad)
        for bad in ({'quorum': 0}, {'quorum': 2}, {'depth': 0}, {'largest': 0}):
            with self.assertRaises(ValueError):
                cairn.Group(['10.0.0.1:1'], **bad)

    def test_log(self):
        for bad in ([], '10.0.0.1:1', ['nowhere'], ['10.0.0.1:1'] * 5):
            with self.assertRaises(ValueError):
                cairn.Log(bad)
        with self.assertRaises(ValueError):
            cairn.Log(['10.0.0.1:1'], quorum=2)
        with self.assertRaises(OSError) as caught:
            cairn.Log(['10.0.0.1:1'], largest=65536)
        self.assertEqual(caught.exception.errno, errno.EINVAL)

    def test_target(self):
        with cairn.Region.anonymous(4096) as region:
            with self.assertRaises((ValueError, OSError)):
                cairn.Target(region, 'nowhere')
            self.assertEqual(region._users, 0)

    def test_faults_of_no_device(self):
        with self.assertRaises(OSError) as caught:
            cairn.Faults('10.0.0.1')
        self.assertIn(caught.exception.errno, (errno.ENODEV, errno.ENOSYS))

    def test_log_that_is_none(self):
        path = os.path.join(work, 'none')
        with open(path, 'wb') as file:
            file.write(bytes(1 << 20))
        with self.assertRaises(OSError) as caught:
            next(cairn.records(path))
        self.assertEqual((caught.exception.errno, caught.exception.filename),
                         (errno.EINVAL, path))
        with self.assertRaises(FileNotFoundError):
            next(cairn.records(path + '.not'))


class Kinds(unittest.TestCase):
    def note_one(self, number, kind):
        group.Group._note(self.group, _abi.GroupWc(
            kind=_abi.CONSTANTS['CAIRNDV_GROUP_DURABLE'], wr_id=number, durability=kind))

    def note(self, *kinds):
        self.ended = getattr(self, 'ended', 0)
        for kind in kinds:
            self.ended += 1
            self.note_one(self.ended, kind)
        return self.group.weakest

    def setUp(self):
        self.group = group.Group.__new__(group.Group)
        self.group._ended, self.group._early, self.group.weakest = 0, set(), None

    def test_weakest_kind_is_kept(self):
        self.assertEqual(self.note(2), cairn.Durability.ADR)
        self.assertEqual(self.note(1, 3, 2), cairn.Durability.HOST)
        self.assertEqual(self.note(0, 4), cairn.Durability.UNKNOWN)

    def test_message_that_ends_early_says_nothing_of_others(self):
        # two of three are enough; message 2 is at one that has joined, and at a fast one
        for number, ended in ((2, 0), (4, 0), (1, 2), (3, 4)):
            self.note_one(number, 3)
            self.assertEqual(self.group._ended, ended)


ktap.main(sys.modules[__name__])
