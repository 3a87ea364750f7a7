# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""KTAP for tests that are written in Python."""
import sys
import unittest


class Result(unittest.TestResult):
    """A point for each test, when it has ended."""

    def __init__(self):
        super().__init__()
        self.told = set()

    def point(self, test, ok, detail=''):
        print('ok' if ok else 'not ok', self.testsRun, test.id().partition('.')[2])
        for line in detail.splitlines():
            print('# |', line)
        sys.stdout.flush()

    def addSuccess(self, test):
        self.point(test, True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.point(test, False, self._exc_info_to_string(err, test))

    def addError(self, test, err):
        super().addError(test, err)
        self.point(test, False, self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):
        """The test's point is that of its first part that fails."""
        super().addSubTest(test, subtest, err)
        if err and test.id() not in self.told:
            self.told.add(test.id())
            self.point(test, False, self._exc_info_to_string(err, subtest))


def main(module, *more):
    """Runs the tests of a module, and more suites."""
    suite = unittest.TestLoader().loadTestsFromModule(module)
    suite.addTests(more)
    print('KTAP version 1')
    print(f'1..{suite.countTestCases()}', flush=True)
    result = Result()
    suite.run(result)
    sys.exit(not result.wasSuccessful())
