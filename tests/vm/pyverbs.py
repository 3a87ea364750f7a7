#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Run Debian's pyverbs suite, and print its tests as KTAP.

pyverbs.py SUITE MUST SKIPPED all|quick IP MAC --dev DEVICE --gid INDEX

SUITE is the directory of the unpacked suite. The tests in the file MUST must pass.
The tests in SKIPPED skip themselves for the reason in their line; "quick" leaves them
out. No other test may fail or skip itself, and no line of either file may name a test
that the suite does not have. IP and MAC are those of the device's interface: the suite
runs ls and ip for them before each test, and looks below the device's parent, which a
veth does not have.
"""
import os
import sys
import unittest


def lines(file):
    with open(file, encoding='utf-8') as f:
        return [l for l in f.read().splitlines() if l and l[0] != '#']


suite_dir, must_file, skipped_file, mode, ip, mac = sys.argv[1:7]
del sys.argv[1:7]
must = set(lines(must_file))
skipped = dict(line.split('\t', 1) for line in lines(skipped_file))
points = 0


def name_of(test):
    return test.id().removeprefix('tests.')


def point(ok, name, detail=''):
    global points
    points += 1
    print('\nok' if ok else '\nnot ok', points, '-', name)
    for line in detail.splitlines():
        print('# |', line)
    sys.stdout.flush()  # some tests fork


class Result(unittest.TestResult):
    """One line for each test, when it has ended."""
    passed = left = 0

    def addSuccess(self, test):
        self.passed += 1
        name = name_of(test)
        if name in skipped:
            point(False, name, 'passes: it belongs into ' + must_file)
        elif name in must:
            point(True, name)
        else:
            print('# passes, too:', name, flush=True)

    def addSkip(self, test, reason):
        self.left += 1
        name = name_of(test)
        if name not in skipped:
            point(False, name, 'no reason to skip it: ' + reason)

    def addError(self, test, err):
        point(False, name_of(test), self._exc_info_to_string(err, test))

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        if err:
            self.addError(subtest, err)


def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


sys.path[0] = suite_dir
sys.path.insert(1, os.path.dirname(suite_dir))
from args_parser import parser  # noqa: E402  (the suite's)
parser.parse_args()
import tests  # noqa: E402
import tests.base  # noqa: E402
import tests.test_mr  # noqa: E402
from pyverbs.dmabuf import DmaBuf  # noqa: E402

tests.base.RDMATestCase._get_ip_mac = \
    lambda self, dev, port, index: self.args.append([dev, port, index, ip, mac])


class Buffer(DmaBuf):
    """pyverbs 44 calls a method of this name, which its class does not have."""
    def add_ref(self, region):
        pass


class DmaBufMR(tests.test_mr.DmaBufMR):
    def __init__(self, pd, length, access, offset=0, gpu=0, gtt=0):
        super().__init__(pd, length, access, Buffer(length + offset, gpu, gtt), offset)


tests.test_mr.DmaBufMR = DmaBufMR

found = list(tests_of(unittest.TestLoader().loadTestsFromModule(tests)))
names = {name_of(test) for test in found}
for listed in sorted((must | set(skipped)) - names):
    point(False, listed, 'the suite has no such test')
for listed in sorted(must & set(skipped)):
    point(False, listed, 'is in both lists')
suite = unittest.TestSuite(test for test in found
                           if mode == 'all' or name_of(test) not in skipped)
del found   # a test that has ended releases its objects
result = Result()
suite.run(result)
print(f'# {len(names)} tests: {result.passed} passed, {result.left} skipped,',
      f'{len(names) - result.testsRun} left out')
