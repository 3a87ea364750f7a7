#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The arithmetic of the bench, on outputs as the tools print them. Prints KTAP."""

import importlib.machinery
import importlib.util
import json
import os
import sys
import unittest

import figures

LOADER = importlib.machinery.SourceFileLoader(
    'report', os.path.join(os.path.dirname(os.path.abspath(__file__)), 'report'))
report = importlib.util.module_from_spec(importlib.util.spec_from_loader('report', LOADER))
LOADER.exec_module(report)

BW = '''
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      576              0.00               35.72  		   0.000572
---------------------------------------------------------------------------------------
'''
LAT = '''
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 64      1000          16.49          11222.24      20.55    	       924.94      	1438.55		5983.67 		11222.24
'''
ICRC = 'crc32_le; ns for 4 KiB: interleaved 1000 crc32_le 900 copy 100\n'


def runs(stack, size, *rates):
    return [{'stack': stack, 'point': {'tool': 'write_bw', 'size': size}, 'rep': i,
             'value': {'bytes_s': r}} for i, r in enumerate(rates)]


class Parsers(unittest.TestCase):
    def test_bandwidth(self):
        v = figures.perftest_bw(BW, 1)
        self.assertAlmostEqual(v['bytes_s'], 35.72 * 1048576)
        self.assertEqual(v['msgs_s'], 572)

    def test_rate_of_long_messages(self):
        """Six digits of millions are too few there: the bytes tell."""
        v = figures.perftest_bw(' 1048576  80  0.00  79.50  0.000079\n', 1)
        self.assertEqual(v['msgs_s'], 79.5)

    def test_no_clock_rate(self):
        """The tool divides by a clock rate of zero."""
        v = figures.perftest_bw(' 4096  2000  0.00  0.00  0.000000\n', 2)
        self.assertEqual(v, {'bytes_s': 4096000, 'msgs_s': 1000})
        v = figures.perftest_bw(' 4096  2000  inf  inf  inf\n', 2)
        self.assertEqual(v['msgs_s'], 1000)
        self.assertRaises(figures.Unreadable, figures.perftest_bw,
                          ' 4096  2000  inf  inf  inf\n', None)
        self.assertRaises(figures.Unreadable, figures.perftest_lat,
                          ' 64 1000 inf inf inf inf -nan inf inf\n')

    def test_latency(self):
        self.assertEqual(figures.perftest_lat(LAT),
                         {'usec': 20.55, 'usec_min': 16.49, 'usec_p99': 5983.67})

    def test_no_table(self):
        for text in ('', 'Failed to modify QP to RTR\n', ' 64 1000 1.0\n'):
            self.assertRaises(figures.Unreadable, figures.perftest_bw, text, 1)
            self.assertRaises(figures.Unreadable, figures.perftest_lat, text)
            self.assertRaises(figures.Unreadable, figures.pairs, text)

    def test_pairs(self):
        self.assertEqual(figures.pairs('x\nusec=1.5 usec_p99=20\n'), {'usec': 1.5, 'usec_p99': 20})

    def test_durable(self):
        got = figures.durable('x\n{"rounds": 7, "domain": "nic", "persist": {"msgs_s": 3.5}}\n')
        self.assertEqual(got, {'persist': {'msgs_s': 3.5}})
        for text in ('', 'no room', '{"persist": {}}', '{"rounds": 0, "domain": "nic"}', '7'):
            self.assertRaises(figures.Unreadable, figures.durable, text)

    def test_iperf(self):
        self.assertEqual(figures.iperf({'end': {'sum_received': {'bits_per_second': 80}}}),
                         {'bytes_s': 10})
        self.assertRaises(figures.Unreadable, figures.iperf, {'error': 'refused'})

    def test_icrc(self):
        self.assertEqual(figures.icrc_choice(ICRC), {
            'choice': 'crc32_le', 'ns': {'interleaved': 1000, 'crc32_le': 900, 'copy': 100}})
        self.assertRaises(figures.Unreadable, figures.icrc_choice, 'none\n')


class Sums(unittest.TestCase):
    def test_limit(self):
        """A copy at each end and one checksum, one after the other or side by side."""
        icrc = figures.icrc_choice(ICRC)
        self.assertAlmostEqual(figures.limit(icrc, 1), 4096e9 / 1100)
        self.assertAlmostEqual(figures.limit(icrc, 2), 4.096e9)
        self.assertAlmostEqual(figures.limit(icrc, 8), 4.096e9)

    def test_summary(self):
        got = figures.summarise(runs('cairn', 64, 3, 1, 2) + runs('rxe', 64, 1) +
                                runs('rxe', 4096, 5, 7) + [{'stack': 'rxe', 'point': {}, 'error': ''}])
        self.assertEqual(len(got), 2)
        small, large = got.values()
        self.assertEqual(small['cairn']['bytes_s'], {'median': 2, 'min': 1, 'max': 3, 'n': 3})
        self.assertEqual(large['rxe']['bytes_s']['median'], 6)

    def test_ratio(self):
        small, = figures.summarise(runs('cairn', 64, 6) + runs('rxe', 64, 2) +
                                   runs('tcp', 64, 0)).values()
        self.assertEqual(figures.ratio(small, 'bytes_s', 'cairn', 'rxe'), 3)
        self.assertIsNone(figures.ratio(small, 'bytes_s', 'cairn', 'tcp'))
        self.assertIsNone(figures.ratio(small, 'usec', 'cairn', 'rxe'))
        self.assertIsNone(figures.ratio(small, 'bytes_s', 'cairn', 'siw'))

    def test_deviations(self):
        """The program prints percentiles of the gaps, and the gap that they should have."""
        text = 'gap=100.5 ' + ' '.join(f'gap_{i:02}={i + 50}' for i in range(100))
        run = {'stack': 'cairn', 'point': {'tool': 'pacing'}, 'value': figures.pairs(text)}
        (stacks,) = figures.summarise([run, run]).values()
        got = figures.deviations(stacks['cairn'])
        self.assertEqual((got[0], got[-1]), ((1, -49.5), (99, 48.5)))
        self.assertEqual(figures.deviations({'usec': {}}), [])


def durable_runs(stack, way, **values):
    return [{'stack': stack, 'value': {name: value},
             'point': {'tool': 'durable', 'way': way, 'size': 4096, 'depth': 32}}
            for name, many in values.items() for value in many]


class Results(unittest.TestCase):
    def test_a_run_takes_one_line(self):
        result = {'env': 'qemu', 'icrc': {'ns': {'folding': 1}}, 'runs': [{'rep': 0}, {'rep': 1}]}
        text = figures.result_text(result)
        self.assertEqual(json.loads(text), result)
        self.assertEqual(len(text.splitlines()), len(result) + len(result['runs']) + 3)
        self.assertEqual(json.loads(figures.result_text({'runs': []})), {'runs': []})


class Report(unittest.TestCase):
    def test_neighbours(self):
        """The rates are parts of that beside a process that only computes."""
        made = [{'stack': 'cairn', 'value': {'msgs_s': rate},
                 'point': {'tool': 'neighbours_write', 'qps': 4, 'beside': beside}}
                for beside, rate in (('computing', 1000), ('flush', 800), ('flush', 950),
                                     ('flush', 990))]
        points = [(dict(k), v) for k, v in figures.summarise(made).items()]
        rows = report.neighbours_table(points)
        self.assertEqual([row[2] for row in rows[1:]], ['1.00', '0.95'])
        self.assertEqual(report.neighbours_table(points[1:])[1][2], '-')

    def test_simple_table(self):
        self.assertEqual(report.rst_table([['size', 'us'], ['64 B', '1.5'], ['4 KiB', '-']]),
                         '=====  ===\nsize   us\n=====  ===\n64 B   1.5\n4 KiB  -\n=====  ===\n')

    def test_no_wide_table(self):
        with self.assertRaises(ValueError):
            report.rst_table([['x'] * 7])

    def test_spread_is_shown_where_there_is_one(self):
        stacks = {'cairn': {'usec': figures.spread([2, 2]), 'msgs_s': figures.spread([1, 2, 6])}}
        self.assertEqual(report.cell(stacks, 'cairn', 'usec', 1), '2.00')
        self.assertEqual(report.cell(stacks, 'cairn', 'msgs_s', 1), '2.00 (1.00-6.00)')
        self.assertEqual(report.cell(stacks, 'rxe', 'usec', 1), '-')

    def test_ratio_with_overlap_is_marked(self):
        for mine, theirs, ratio, marked in (((10, 12, 32), (10, 14, 16), '0.86', 'yes'),
                                            ((20, 22), (10, 11), '2.00', 'no')):
            runs_of = (durable_runs('cairn', 'persist', msgs_s=mine) +
                       durable_runs('rxe', 'write+read', msgs_s=theirs))
            row = report.durable_rxe_table(report.points_of({'runs': runs_of}))[1]
            self.assertEqual(row[4:], [ratio, marked])

    def test_replicas(self):
        """Ways that were not measured are no figures."""
        runs_of = (durable_runs('cairn', 'persist', msgs_s=[1]) +
                   durable_runs('cairn', 'group', time_of_persist=[1.5, 1.7]))
        rows = report.replicas_table(report.points_of({'runs': runs_of}))
        self.assertEqual(rows[1], ['4 KiB, 32 in flight', '-', '1.60 (1.50-1.70)', '-', '-', '-'])
        only = report.points_of({'runs': durable_runs('cairn', 'persist', msgs_s=[1])})
        self.assertEqual(len(report.replicas_table(only)), 1)

    def test_busy_processes(self):
        """A load is a point of its own; what was sent again has a table."""
        runs_of = [{'stack': 'cairn', 'point': {'tool': 'write_bw', 'size': 64, **more},
                    'value': {'bytes_s': 1e6, **value}}
                   for more, value in (({}, {}), ({'busy': 4}, {'again': 3, 'not_ready': 1}))]
        points = report.points_of({'runs': runs_of})
        self.assertEqual(report.again_table(points)[1:], [['ib_write_bw, 64 B, 4 busy', '3.00', '1.00']])
        self.assertEqual([report.is_point(p, {'tool': 'write_bw', 'size': 64}) for p, _ in points],
                         [True, False])

    def test_point_of_the_summary(self):
        lossy = {'tool': 'write_bw', 'size': 64, 'loss': 1}
        self.assertTrue(report.is_point({'tool': 'write_bw', 'size': 64},
                                        {'tool': 'write_bw', 'size': 64}))
        self.assertFalse(report.is_point(lossy, {'tool': 'write_bw', 'size': 64}))
        self.assertFalse(report.is_point({'tool': 'write_bw', 'size': 64, 'qps': 64},
                                         {'tool': 'write_bw', 'size': 64}))
        self.assertTrue(report.is_point(lossy, lossy))

    def test_losses_are_published(self):
        self.assertEqual(report.judge(4.5, ('+', 4)), 'at least 4: met')
        self.assertEqual(report.judge(1.2, ('+', 3)), 'at least 3: **missed**')
        self.assertEqual(report.judge(0.7, ('-', 0.6)), 'at most 0.6: **missed**')


def main():
    cases = list(unittest.TestLoader().loadTestsFromModule(sys.modules[__name__]))
    tests = [t for group in cases for t in group]
    failed = 0
    print('KTAP version 1\n1..%d' % len(tests))
    for number, test in enumerate(tests, 1):
        with open(os.devnull, 'w', encoding='ascii') as null:
            result = unittest.TextTestRunner(stream=null).run(test)
        bad = [text for _, text in result.failures + result.errors]
        for line in '\n'.join(bad).splitlines():
            print('#', line)
        failed += bool(bad)
        print('%sok %d bench.%s' % ('not ' if bad else '', number, test.id().split('.')[-1]))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
