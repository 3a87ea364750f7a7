#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Arguments that a program must refuse before it looks for a device.
#
#   test_args.sh BUILD-DIR
set -u

build=$1
tools=$(cd "$(dirname "$0")/../tools" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cairn-args.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=userspace/tests/result.sh
. "${0%/*}/result.sh"

shown=("$work/out")
export LD_LIBRARY_PATH=$build

# refuses WORDS PROGRAM [ARGUMENT]...: a wrong command line, and WORDS say why
refuses() {
	local words=$1 status=0

	shift
	timeout 20 "$@" >"$work/out" 2>&1 || status=$?
	[ $status = 2 ] && grep -qF -e "$words" "$work/out" &&
		! grep -q Traceback "$work/out"
	result $? "refused: ${*##*/}"
}

persist() { refuses "$1" "$build/cairn_persist" -d none "${@:2}"; }

persist '-s 64k: want 8 to 67108864' -s 64k
persist '-s 4294971392: want 8' -s 4294971392
persist '-s -8: want 8' -s -8
persist '-s : want 8' -s ''
persist '-n 1e6: want 1' -n 1e6
persist '-n 0: want 1' -n 0
persist '-t 513: want 1 to 512' -t 513
persist '-p 70000: want 1 to 65535' -p 70000
persist '-x -1: want 0 to 255' -x -1
persist '-x first: want 0' -x first
persist '-k Host: want nic, host' -k Host
persist '-M '"$work"': want a devdax device' -M "$work"
: >"$work/file"
persist 'want a devdax device or anonymous' -k host -M "$work/file"
persist '-m writes: want persist' -m writes

log() { refuses "$1" "$build/cairn_log" "${@:2}" -m "$work/file"; }

log 'usage: cairn_log' append
log '-p abc: want 1 to 65535' append -a 127.0.0.1 -p abc
log '-p 07471: want 1 to 65535' append -a 127.0.0.1 -p 07471
log '-p 0x1d2f: want 1 to 65535' serve -p 0x1d2f
log '-p 65536: want 1 to 65535' serve -p 65536
log '-p : want 1 to 65535' serve -p ''
log '-a 127.0.0.1,: want a port of 1 to 65535' append -a 127.0.0.1,
log '-a 127.0.0.1,http: want a port of 1 to 65535' members -a 127.0.0.1,http
log '-a five: want fewer targets' append -a one -a two -a three -a four -a five
log '-q 3: there are 2 targets' append -a one -a two -q 3
log '-q 0: want 1 to 4' append -a one -q 0
log '-d -1: want 0 to 4294967295' append -a one -d -1
log '-r 4294967296: want 0 to 4294967295' append -a one -r 4294967296
log '-n many: want 0 to' append -a one -n many
log '-k 1x: want 0 to' verify -k 1x
log '-l 0: want 1 to 65480 bytes' append -a one -l 0
log '-b 1000: want a power of two, 512 to 64k' append -a one -b 1000
log '-s 16MB: want bytes, or a number with k, M or G' verify -s 16MB
log '--lease 0: want 1 to 3600' append -a one --lease 0

pgwal() { refuses "$1" "$build/cairn_pgwal" "${@:2}"; }

pgwal '-p abc: want 1 to 65535' receive -a one -p abc
pgwal '-a one,abc: want a port of 1 to 65535' archive -a one,abc "$work"
pgwal '-S A: want 1 to 63 of a-z' receive -a one -S A

chain() { refuses "$1" "$build/cairn_chain" "${@:2}" -m "$work/file"; }

chain '-p abc: want 1 to 65535' write -a one -p abc
chain '-a one,0: want a port of 1 to 65535' write -a one,0
chain '-n one,x: want a port of 1 to 65535' serve -n one,x
chain '-c 0: want 1 to' write -a one -c 0
chain '-d 1s: want 0 to 4294967295' serve -d 1s
chain '-k : want 0 to' verify -k ''
chain '-l 64M: want 1 to 65536 bytes' write -a one -l 64M
chain '-s x: want bytes, or a number with k, M or G' serve -s x
chain '-w 65: want 1 to 64' write -a one -w 65
chain '-x none: want fail, hold or cut' serve -x none
refuses '-m anonymous: want a file or a device-DAX device' \
	"$build/cairn_chain" serve -m anonymous

refuses '-n abc: want seconds' "$tools/cairn_top" -n abc
refuses '-c 0: want 1 to 999999999' "$tools/cairn_top" -c 0
refuses '-c : want 1 to 999999999' "$tools/cairn_top" -c ''

refuses '-1 is no time' "$tools/cairn_explain" -s -1 none
refuses 'abc is no time' "$tools/cairn_explain" -s abc none
refuses '1_0 is no number from 1' "$tools/cairn_explain" -n 1_0 none
refuses 'nan is no time' "$tools/cairn_capture" -s nan none
refuses 'x is no number from 1' "$tools/cairn_capture" -q x none

# The settings that are right hold, so there is a look for the device.
set_refuses() {
	local status=0

	timeout 20 "$build/cairn_set" none "${@:2}" >"$work/out" 2>&1 || status=$?
	[ $status = 1 ] && grep -qF -e "cairn_set: $1" "$work/out" &&
		grep -qx 'cairn_set: there is no device none' "$work/out"
	result $? "refused: cairn_set none ${*:2}"
}

settings='idle-time, loopback, fabric, capture, persistent, congestion-control, profile'
set_refuses "unknown=1: there is no such setting, but $settings: see cairn_set(1)" unknown=1
set_refuses "fabricate=one: there is no such setting" fabricate=one
set_refuses "=: there is no such setting" =
set_refuses 'idle-time=1e3: want 0 to 1000000 microseconds, or default' idle-time=1e3
set_refuses 'idle-time=1000001: want 0 to' idle-time 1000001
set_refuses 'loopback=on: want self, off or host' loopback on
set_refuses 'capture=: want yield or keep' capture=
set_refuses 'persistent=nic: want declared or auto' persistent=nic
set_refuses 'congestion-control=1: want on or off' congestion-control=1
set_refuses 'fabric: want a name of at most 15' fabric loopback=self
set_refuses 'profile: want a profile' fabric=one profile

# With --help or -h a program prints its usage to the standard output.
helps() {
	local status=0

	timeout 20 "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	[ $status = 0 ] && head -n 1 "$work/out" | grep -q "^usage: ${1##*/} " && [ ! -s "$work/err" ]
	result $? "${1##*/} $2"
}
for program in "$build"/cairn_{chain,fault,log,persist,pgwal,set} "$tools"/cairn_* \
	"$tools/../boot/cairn-link"; do
	[ -x "$program" ] || continue
	helps "$program" --help
	helps "$program" -h
done

(cd "$work" && "$tools/cairn_check" -s -o file sh -c 'cd / && printenv CAIRN_CHECK') >"$work/out" 2>&1
[ "$(<"$work/out")" = "log:$(cd "$work" && pwd)/file,strict" ]
result $? "reports go to a file of the directory where cairn_check began"

# Scripts: before they fetch, build or boot anything, or write into a directory.
scripts=$(cd "$tools/../../scripts" && pwd)
refuses 'scripts/deb [--release NAME]' "$scripts/deb" --release
refuses 'usage: ' "$scripts/module.sh" build
refuses 'there is no bench wirte, but write read send lat' "$scripts/bench/all" send wirte
refuses 'there is no bench fio, but' "$scripts/bench/all" write fio
refuses 'there is no environment kvm, but qemu' "$scripts/bench/all" --env 'uml kvm' write
refuses 'scripts/bench/all [--env' "$scripts/bench/all" --quick
refuses 'scripts/bench/all [--env' "$scripts/bench/all" --env
refuses 'there is no kernel trixei' "$scripts/test/matrix" 6.1 trixei
refuses 'there is no kernel --all' "$scripts/test/matrix" --all
refuses '--kernels needs a value' "$scripts/test/vmtest" --kernels
# missing KERNEL WORDS: before a boot
missing() {
	local status=0

	timeout 20 "$scripts/vm/run" --kernel "$1" -- true >"$work/out" 2>&1 || status=$?
	[ $status = 98 ] && grep -qxF "vm: $2" "$work/out"
	result $? "missing: kernel $1"
}
missing 5.99 "kernel 5.99 is missing: run 'scripts/vm/fetch 5.99'"
missing foo 'there is no kernel foo: Documentation/systems.rst has the names'
CAIRN_CACHE=$work/cache missing 6.12 "kernel 6.12 is missing: run 'make deps'"
refuses "--tree wants a kernel tree, not '$work'" "$scripts/intree" --tree "$work"
refuses "--patch wants a kernel tree, not ''" "$scripts/intree" --patch
[ ! -e "$work/drivers" ]
result $? 'nothing is written into a directory that is no kernel tree'

# A medium that is too small, or none.
says() {
	local words=$1 status=0

	shift
	timeout 20 "$@" >"$work/out" 2>&1 || status=$?
	[ $status = 1 ] && grep -qF -e "$words" "$work/out"
	result $? "refused: ${*##*/}"
}
echo 'no log' >"$work/text"
least="$(((4 << 12) + (1 << 16))) bytes or more, in a file or a device-DAX device"
says "cairn_log: $work/text: want $least" "$build/cairn_log" verify -m "$work/text"
says "cairn_log: $work/new: want $least" "$build/cairn_log" serve -m "$work/new" -s 4k
says "cairn_log: /dev/null: want $least" "$build/cairn_log" wipe -m /dev/null
says "cairn_chain: $work/text: want $least" "$build/cairn_chain" verify -m "$work/text"
says "cairn_log: $work/gone: No such file or directory" "$build/cairn_log" verify -m "$work/gone"

# No target listens at port 1. The message ends with the target's reason, without the errno's text.
! timeout 20 "$build/cairn_pgwal" archive -a 127.0.0.1,1 "$work" >"$work/out" 2>&1 &&
	grep -q '127\.0\.0\.1.*: ' "$work/out" && ! grep -q ': Input/output error$' "$work/out"
result $? "archive without a target: $(cat "$work/out")"

# A program whose output does not take everything has failed.
: >"$work/medium"
truncate -s 1M "$work/medium"
"$build/cairn_chain" verify -m "$work/medium" >"$work/out"
result $? "verify: $(cat "$work/out")"
! "$build/cairn_chain" verify -m "$work/medium" >/dev/full 2>"$work/out" &&
	grep -qx 'cairn_chain: output: .*' "$work/out"
result $? "verify with an output that takes nothing"

# The shell reads what a completion inserts: each name is one word again.
# shellcheck source=userspace/boot/completion
. "$tools/../boot/completion"
inserts() {
	local COMP_CWORD=1 COMP_WORDS=(cairn_set "$1")

	_cairn_reply "${@:2}"
	eval "words=(${COMPREPLY[*]})"
	[ "${words[*]}" = "${*:2}" ] && [ ${#words[@]} = $(($# - 1)) ]
}
names=('c;echo>evil' "c\$(echo>evil)" 'c d' "c'" $'c\e[2J')
(cd "$work" && inserts c "${names[@]}" && [ ! -e evil ])
result $? 'the completion quotes names of devices'
inserts '' idle-time= sent: write+read -n cairn0 eth0.7
result $? '... and no other word'

result_end
