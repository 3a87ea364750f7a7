#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Each file that "make install" installs is in one package, of Debian's and of the RPMs, and an
upgrade of the RPM builds the new module; as KTAP.

test_packages.py BUILD-DIR
"""
import collections
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import ktap

# DKMS as far as the RPM uses it: a version is added, and built for a kernel, once
DKMS = '''#!/bin/sh
dir=$STATE/$5
case $1 in
add) mkdir "$dir" 2>/dev/null || exit 3 ;;
build) [ ! -e "$dir/built" ] || exit 3; cp "$STATE/src/cairn-$5" "$dir/built" ;;
install) cp "$dir/built" "$STATE/loaded" ;;
# of the version that this transaction has added, by --rpm_safe_upgrade
remove) [ "$5" = "$ADDED" ] || rm -r "$dir" ;;
esac
'''

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
build = os.path.abspath(sys.argv[1])


def installed(directory, *variables):
    """The files below the directory, with a slash before each name."""
    subprocess.run(['make', '-s', '--no-print-directory', '-C', TOP / 'userspace', f'BUILD={build}',
                    f'DESTDIR={directory}', *variables, 'install'], check=True,
                   env={key: value for key, value in os.environ.items() if key != 'MAKEFLAGS'},
                   stdout=subprocess.DEVNULL)
    return {'/' + str(path.relative_to(directory)) for path in pathlib.Path(directory).rglob('*')
            if path.is_symlink() or path.is_file()}


def matches(name, pattern):
    """A pattern may name a directory; "*" ends at a slash."""
    parts, wanted = name.split('/'), pattern.rstrip('/').split('/')
    return len(parts) >= len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


class Packages(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = directory.name

    def in_one_each(self, files, packages):
        """@packages: patterns by package"""
        self.assertGreater(len(files), 50)
        of_file = collections.defaultdict(list)
        for package, patterns in packages.items():
            for pattern in patterns:
                found = [name for name in files if matches(name, pattern)]
                self.assertTrue(found, f'{package} installs {pattern}, which is not there')
                for name in found:
                    of_file[name].append(package)
        self.assertEqual({name: of_file[name] for name in files if len(set(of_file[name])) != 1}, {})

    def test_debian(self):
        files = installed(self.dir, 'MULTIARCH=x86_64-linux-gnu', 'UNITDIR=/usr/lib/systemd/system',
                          'UDEVDIR=/usr/lib/udev/rules.d')
        packages = {}
        for path in (TOP / 'debian').glob('*.install'):
            words = [line.split() for line in path.read_text(encoding='ascii').splitlines()]
            # with a second word the file comes from the source
            packages[path.stem] = ['/' + line[0].replace('${env:lib}', 'usr/lib')
                                   for line in words if len(line) == 1]
        self.in_one_each(files, packages)

    def test_rpm(self):
        files = installed(self.dir, 'LIBDIR=/usr/lib64', 'UNITDIR=/usr/lib/systemd/system',
                          'UDEVDIR=/usr/lib/udev/rules.d', 'CNIDIR=/opt/cni/bin',
                          'PYTHONDIR=/usr/lib64/python3/site-packages')
        macros = {'_libdir': '/usr/lib64', '_bindir': '/usr/bin', '_includedir': '/usr/include',
                  '_datadir': '/usr/share', '_mandir': '/usr/share/man',
                  '_unitdir': '/usr/lib/systemd/system', '_udevrulesdir': '/usr/lib/udev/rules.d',
                  'python3_sitearch': '/usr/lib64/python3/site-packages'}
        packages, package = {}, None
        for line in (TOP / 'scripts/rpm/cairn.spec').read_text(encoding='ascii').splitlines():
            if line.startswith('%files'):
                package = line.split()[-1]
                packages[package] = []
            elif re.match(r'%(post|pre|prep|build|install)', line):
                package = None
            elif package and package != 'dkms' and not line.startswith(('%doc', '%license')):
                for word in line.split():
                    if not word.startswith('%config'):
                        packages[package].append(re.sub(r'%\{(\w+)\}', lambda m: macros[m[1]], word))
        self.in_one_each(files, {name: patterns for name, patterns in packages.items() if patterns})

    def rpm(self, part, release):
        """The lines of a part of the package cairn-dkms."""
        text = (TOP / 'scripts/rpm/cairn.spec').read_text(encoding='ascii')
        macros = {'version': '1.0.0', 'cairn_version': '1.0.0', 'release': release,
                  'cairn_release': release, **dict(re.findall(r'^%global (\w+) (.*)$', text, re.M))}
        lines = re.search(rf'^%{part} dkms\n(.*?)^(?=%[a-z])', re.sub('^%license.*\n', '', text, flags=re.M),
                          re.M | re.S)[1]
        while '%{' in lines:
            lines = re.sub(r'%\{(\w+)\}', lambda found: macros[found[1]], lines)
        return lines

    def dkms(self, part, release, added):
        subprocess.run(['sh', '-c', self.rpm(part, release)], check=True, env={
            **os.environ, 'PATH': f"{self.dir}:{os.environ['PATH']}", 'STATE': self.dir,
            'ADDED': added})

    def test_rpm_upgrade(self):
        state = pathlib.Path(self.dir)
        (state / 'dkms').write_text(DKMS, encoding='ascii')
        (state / 'dkms').chmod(0o755)
        (state / 'src').mkdir()
        before = None
        for release in '0.41.abc', '0.42.def', '1':
            source = pathlib.Path(self.rpm('files', release).strip())
            version = source.name.removeprefix('cairn-')
            (state / 'src' / source.name).write_text(release, encoding='ascii')
            self.dkms('post', release, version)
            if before:
                self.dkms('preun', before, version)
            self.assertEqual((state / 'loaded').read_text(encoding='ascii'), release)
            self.assertEqual([path.parent.name for path in state.glob('*/built')], [version])
            before = release


if __name__ == '__main__':
    ktap.main(sys.modules[__name__])
