#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# cairn-cni, as far as it needs no kernel: what it refuses, and how it says so.
# tests/vm/cni.sh has the rest.
#
#   test_cni.sh HELPER-DIR
set -u

plugin=$1/cairn-cni
work=$(mktemp -d "$1/cni.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=userspace/tests/result.sh
. "${0%/*}/result.sh"
good='{"cniVersion":"1.1.0","name":"net","type":"cairn-cni"'

shown=("$work/out" "$work/err")

# It ends without freeing what it has.
# call STDIN [VARIABLE=VALUE]...: its exit status is left in $rc
call() {
	rc=0
	printf '%s' "$1" | env -i ASAN_OPTIONS=detect_leaks=0 "${@:2}" "$plugin" >"$work/out" 2>"$work/err" || rc=$?
}

add() { call "$1" CNI_COMMAND=ADD CNI_CONTAINERID=c1 CNI_NETNS=/proc/self/exe CNI_IFNAME=eth0 "${@:2}"; }

# refused NAME CODE WORDS: an error as the specification has it, with these words
refused() {
	local ok=0

	[ $rc = 1 ] && [ ! -s "$work/err" ] && [[ $(<"$work/out") == '{"code":'$2,\"msg\":*"$3"* ]] || ok=1
	cat "$work/out" >>"$work/errors"
	result $ok "$1"
}

# --- the environment ------------------------------------------------------

call ''
refused 'no command' 4 CNI_COMMAND
call "$good}" CNI_COMMAND=add
refused 'an unknown command' 4 "CNI_COMMAND is 'add'"
call "$good}" CNI_COMMAND=ADD CNI_NETNS=/run/netns/p CNI_IFNAME=eth0
refused 'no container' 4 CNI_CONTAINERID
for id in -c 'a/b' 'a b' .a; do
	add "$good}" CNI_CONTAINERID="$id"
	refused "container '$id'" 4 CNI_CONTAINERID
done
for ifname in '' a/b a:b 'a b' . .. 0123456789abcdef; do
	add "$good}" CNI_IFNAME="$ifname"
	refused "interface '$ifname'" 4 CNI_IFNAME
done
add "$good}" CNI_IFNAME=$'a b\xff'
refused 'an interface with a byte that is no text' 4 "CNI_IFNAME is 'a b?'"
add "$good}" CNI_NETNS=
refused 'ADD without a namespace' 4 CNI_NETNS
call "$good}" CNI_COMMAND=CHECK CNI_CONTAINERID=c1 CNI_IFNAME=eth0
refused 'CHECK without a namespace' 4 CNI_NETNS

# --- the configuration ----------------------------------------------------

add ''
refused 'nothing on stdin' 6 'ends too early'
add "$good"
refused 'half of a configuration' 6 'ends too early'
add "$good,}"
refused 'bad JSON' 6 'at byte'
add "$good} {}"
refused 'two objects' 6 'at byte'
add '[]'
refused 'a list' 6 'no object'
add "$(printf '%0.s[' {1..100})"
refused 'depth' 6 'at byte'
add "$(head -c 4300000 /dev/zero | tr '\0' ' ')"
refused 'too long' 5 '4 MiB'
add '{"name":"net"}'
refused 'no version' 1 cniVersion
add '{"cniVersion":"2.0.0","name":"net"}'
refused 'a version of the future' 1 "cniVersion '2.0.0'"
# an odd byte before 999 characters of two bytes: the text ends within one
add "{\"cniVersion\":\"x$(printf '\xc3\xa4%.0s' {1..999})\",\"name\":\"net\"}"
refused 'a version that is too long' 1 "cniVersion 'x??"
add '{"cniVersion":1.0,"name":"net"}'
refused 'a version that is a number' 1 cniVersion
add '{"cniVersion":"1.0.0"}'
refused 'no name' 7 name
grep -q '"cniVersion":"1.0.0"' "$work/out"
result $? '... in the version of the configuration'
add "$good}"
refused 'not chained' 7 prevResult
add "$good,\"prevResult\":null}"
refused 'not chained, with a null' 7 prevResult
for fabric in '""' '"a-name-of-16-byt"' '"a b"' '".a"' '"a/b"' '"a\u0000b"' 1 null; do
	add "$good,\"prevResult\":{},\"fabric\":$fabric}"
	refused "fabric $fabric" 7 'fabric must be a name'
done
add "$good,\"prevResult\":{},\"fabric\":\"a-name.of_15-by\"}"
refused 'a good name of a fabric' 4 'no network namespace'
add "$good,\"prevResult\":{}}
 "
refused 'a namespace that is an ordinary file' 4 'no network namespace'
add "$good,\"prevResult\":{}}" CNI_NETNS=/nothing
refused 'a namespace that is not there' 4 CNI_NETNS
call '{"cniVersion":"0.3.1","name":"net"}' CNI_COMMAND=CHECK CNI_CONTAINERID=c1 CNI_NETNS=/p CNI_IFNAME=eth0
refused 'CHECK before 0.4.0' 1 'CHECK needs cniVersion 0.4.0'
for command in GC STATUS; do
	call '{"cniVersion":"1.0.0","name":"net"}' CNI_COMMAND=$command
	refused "$command before 1.1.0" 1 "$command needs cniVersion 1.1.0"
done

# --- VERSION --------------------------------------------------------------

versions() {
	[ $rc = 0 ] && [ "$(<"$work/out")" = \
		'{"supportedVersions":["0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"],"cniVersion":"'"$1"'"}' ]
}

call '{"cniVersion":"1.0.0"}' CNI_COMMAND=VERSION
versions 1.0.0
result $? VERSION
call '' CNI_COMMAND=VERSION
versions 1.1.0
result $? 'VERSION without a configuration'

python3 - "$work/errors" >"$work/out" 2>"$work/err" <<-'END'
	import json, sys
	for line in open(sys.argv[1]):
	    assert sorted(json.loads(line)) == ["cniVersion", "code", "msg"], line
END
result $? 'each error is one JSON object'
grep -vE '\b(add|change|check|make|must|put|run|see|use)\b' "$work/errors" >"$work/out"
[ ! -s "$work/out" ]; result $? '... that says what to do'

# --- the node -------------------------------------------------------------

# on_node STATUS: the configuration of the node's network comes from stdin
on_node() {
	local rc=0

	cat >"$work/node/net.d/10-net.conflist"
	"$work/node/install" --bin "$work/node/bin" --conf "$work/node/net.d" >"$work/out" 2>"$work/err" || rc=$?
	[ $rc = "$1" ] && [ "$(ls "$work/node/net.d")" = 10-net.conflist ]
}

if command -v jq >/dev/null; then
	mkdir -p "$work/node/net.d"
	cp "${0%/*}/../../scripts/ci/kubernetes/install" "$plugin" "$work/node"
	export ASAN_OPTIONS=detect_leaks=0
	on_node 0 <<<'{"cniVersion":"0.3.1","plugins":[{"type":"bridge"}]}' &&
		[ "$(jq -c '[.plugins[].type]' "$work/node/net.d/"*)" = '["bridge","cairn-cni"]' ]
	result $? 'a node with a network'
	# the network's pod has opened its file and not written it yet
	inode=$(stat -c %i "$work/node/net.d/"*)
	on_node 1 </dev/null && [ "$(stat -c %i "$work/node/net.d/"*)" = "$inode" ] &&
		grep -q '10-net.conflist is no JSON yet' "$work/out"
	result $? '... of which the file is being written'
	# with the plugin in it no pod would start
	for version in '' '"cniVersion":"2.0.0",' '"cniVersion":"0.2.0",'; do
		list="{$version\"plugins\":[{\"type\":\"bridge\"}]}"
		on_node 1 <<<"$list" && [ "$(<"$work/node/net.d/10-net.conflist")" = "$list" ] &&
			grep -q 'which cairn-cni does not serve' "$work/out"
		result $? "... of which the version is not served: $list"
	done
else
	result_skip 'a node with a network' 'no jq'
fi

result_end
