#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The direction of the layers:
# wire <- engine <- {persist, queue, mem, device} <- lane <- {verbs, net}.
#
# - wire/, engine/ and queue/qicache.[ch] are plain C: they include each other's
#   headers in that direction, the kernel/user ABI, and headers of the kernel that
#   are only about C itself; they name nothing of sk_buffs or ib_core.
# - Their objects need nothing but each other, cairn_env_*() of engine/env.h, and
#   what the compiler itself calls.
# - The other rooms include their own headers and those of rooms below them; verbs/
#   and net/ do not include each other's. headers() has what is allowed besides.
#   Files that only join rooms (main.c, env.c) lie beside the rooms.
# - Kernel versions are compared in compat/ only.
#
# Sources are always checked, objects when there are any in build/.
# --self-test: every rule, broken on purpose, must be noticed.
# no pipefail: a filter that lets nothing pass is the good case
set -eu

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
sub=drivers/infiniband/sw/cairn

plain='linux/(align|array_size|atomic|bitmap|bitops|bits|build_bug|cache|compiler|container_of|errno'
plain+='|kernel|limits|log2|math|math64|minmax|nospec|overflow|prefetch|stddef|string|types|unaligned)\.h'
plain+='|asm/(byteorder|unaligned)\.h|rdma/cairn-abi\.h'

# fortified string functions warn and panic by themselves
compiler='mem(cpy|set|cmp|move)|__fentry__|__x86_(return|indirect)_thunk[a-z0-9_]*|__stack_chk_fail'
compiler+='|__warn_printk|__?fortify_panic|__fortify_report|__sw_hweight(32|64)'

# The code without its comments, line numbers kept: no other way to tell a
# name from a word about it.
code() {
	gcc -fpreprocessed -dD -E -w -x c "$1" 2>/dev/null | awk -v file="$1" '
	/^# [0-9]+ "/ { line = $2; next }
	{ print file ":" line++ ": " $0 }'
}

# includes FILE: "FILE:LINE: what" for each of its includes
includes() {
	grep -nE '^[[:space:]]*#[[:space:]]*include' "$1" |
		sed -E "s|^([0-9]+):[^<\"]*[<\"]([^>\"]*)[>\"].*|$1:\1: \2|"
}

# headers ROOM: what it may include of ours
headers() {
	local below='wire|engine' above='wire|engine|persist|queue|mem|device|lane|compat'

	case $1 in
	persist) echo "($below|persist)/[a-z0-9_]+" ;;
	device) echo "($below|device|compat)/[a-z0-9_]+|lane/(exec|lane)" ;;
	queue) echo "($below|persist|device|queue|compat)/[a-z0-9_]+|lane/(exec|lane)" ;;
	mem) echo "($below|persist|device|queue|mem|compat)/[a-z0-9_]+|verbs/(host_flush|limits|udata|verbs)" ;;
	lane) echo "($below|device|lane|compat)/[a-z0-9_]+" ;;
	verbs | net) echo "($above|$1)/[a-z0-9_]+" ;;
	esac
}

# own_includes FILE: those that are ours; there are kernel headers <net/...>, too
own_includes() {
	grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*("|<(wire|engine|persist|queue|mem|device|lane|verbs)/)' "$1" |
		sed -E "s|^([0-9]+):[^<\"]*[<\"]([^>\"]*)[>\"].*|$1:\1: \2|"
}

# complain TEXT: prefix for each line of stdin; fails if there is any
complain() {
	local line rc=0

	while IFS= read -r line; do
		echo "$line ($1)"
		rc=1
	done
	return $rc
}

sources() {
	local d

	for d; do
		[ ! -d "$sub/$d" ] || find "$sub/$d" -name '*.[ch]' | sort
	done
}

# plain C outside of wire/ and engine/
cache() { find "$sub/queue" -name 'qicache.[ch]' 2>/dev/null | sort; }

check_sources() {
	local f room rc=0

	for f in $(sources wire); do
		includes "$f" | grep -vE ": (wire/[a-z0-9_]+\.h|$plain)$" |
			complain 'wire may not include it' || rc=1
	done
	for f in $(sources engine); do
		includes "$f" | grep -vE ": ((wire|engine)/[a-z0-9_]+\.h|$plain)$" |
			complain 'engine may not include it' || rc=1
	done
	for f in $(cache); do
		includes "$f" | grep -vE ": ((wire|engine)/[a-z0-9_]+\.h|queue/qicache\.h|$plain)$" |
			complain 'qicache may not include it' || rc=1
	done
	for f in $(sources wire engine) $(cache); do
		code "$f" | grep -E '\b(struct sk_buff|sk_buff|skb_[a-z_]+|ib_[a-z_]+|IB_[A-Z_]+|rdma_[a-z_]+|jiffies|k[mzc]*alloc|kfree|spin_lock[a-z_]*|mutex_[a-z]+|rcu_[a-z_]+|printk|pr_[a-z]+)\b' |
			complain 'not for plain C' || rc=1
	done
	for room in persist queue mem device lane verbs net; do
		for f in $(sources $room); do
			own_includes "$f" |
				grep -vE ": ($(headers $room))\.h$" |
				complain "$room may not include it" || rc=1
		done
	done
	for f in $(find "$sub" include -name '*.[ch]' -not -path '*/compat/*' \
		-not -path '*/tests/*' | sort); do
		code "$f" | grep -E '\b(LINUX_VERSION_CODE|KERNEL_VERSION)\b' |
			complain 'only in compat' || rc=1
	done
	return $rc
}

# check_objects DIR: the objects below DIR/$sub
check_objects() {
	local dir=$1/$sub wire engine cache o rc=0

	defined() { nm --defined-only "$@" 2>/dev/null | awk 'NF == 3 { print $3 }'; }
	# needs OBJECT KNOWN: undefined symbols of the object that are not in the list
	needs() {
		nm -u "$1" | awk -v o="${1#"$top"/}" '{ print o ": " $2 }' |
			awk -v known="$2" 'BEGIN { n = split(known, k, "\n"); for (i = 1; i <= n; i++) ok[k[i]] }
			!($2 in ok)'
	}

	wire=$(defined "$dir"/wire/*.o)
	engine=$(defined "$dir"/engine/*.o || :)
	cache=$dir/queue/qicache.o
	[ -n "$wire" ] || return 0
	for o in "$dir"/wire/*.o; do
		needs "$o" "$wire" | grep -vE ": ($compiler)$" |
			complain 'wire may not need it' || rc=1
	done
	for o in "$dir"/engine/*.o "$cache"; do
		[ -e "$o" ] || continue
		needs "$o" "$wire
$engine" |
			grep -vE ": ($compiler|cairn_env_[a-z0-9_]+)$" |
			complain 'plain C may not need it' || rc=1
	done
	return $rc
}

check() {
	local b rc=0

	check_sources || rc=1
	for b in "$@"; do
		[ ! -d "$b/$sub/wire" ] || check_objects "$b" || rc=1
	done
	return $rc
}

self_test() {
	local tmp rc=0

	tmp=$(mktemp -d)
	# shellcheck disable=SC2064
	trap "rm -rf '$tmp'" EXIT
	cd "$tmp"
	mkdir include

	# bad NAME FILE TEXT: a tree of good sources, and this one
	bad() {
		rm -rf "$sub"
		mkdir -p "$sub"/{wire,engine,verbs,net,lane,queue,mem,device,persist,compat,tests}
		good
		printf '%s\n' "$3" >"$sub/$2"
		if check >"$tmp/out"; then
			echo "layers.sh: not noticed: $1"
			rc=1
		fi
	}
	good() {
		printf '%s\n' '#include <linux/types.h>' '#include "wire/hdr.h"' \
			'/* no sk_buff, ib_qp or KERNEL_VERSION here */' >"$sub/wire/good.c"
		printf '%s\n' '#include <rdma/cairn-abi.h>' '#include "wire/hdr.h"' \
			'#include "engine/env.h"' >"$sub/engine/good.h"
		printf '%s\n' '#include <net/ip.h>' '#include <rdma/ib_verbs.h>' \
			'#include "engine/env.h"' '#include "device/nic.h"' \
			'#include "queue/qinfo.h"' '#include "compat/x.h"' >"$sub/verbs/good.c"
		cp "$sub/verbs/good.c" "$sub/net/good.c"
		printf '%s\n' '#include "engine/qp.h"' '#include "lane/exec.h"' \
			'#include "compat/x.h"' '#include "device/path.h"' >"$sub/lane/good.h"
		printf '%s\n' '#include "engine/qp.h"' '#include "queue/qicache.h"' \
			'#include <linux/bits.h>' >"$sub/queue/qicache.c"
		echo '#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)' >"$sub/compat/good.h"
	}
	# objects NAME GOOD-OR-BAD CODE [FILE]: an object, of the engine or FILE
	objects() {
		local got=good

		rm -rf obj
		mkdir -p "obj/$sub"/{wire,engine,queue}
		gcc -w -c -x c -o "obj/$sub/wire/w.o" - <<<'int wire_x; void w(void) { __fentry__(); }'
		gcc -w -c -x c -o "obj/$sub/engine/known.o" - <<<'int engine_x;'
		gcc -w -c -x c -o "obj/$sub/queue/queue.o" - <<<'int queue_x; void q(void) { __kmalloc(3); }'
		gcc -w -c -x c -o "obj/$sub/${4:-engine/e}.o" - <<<"$3"
		check_objects "$tmp/obj" >"$tmp/out" || got=bad
		[ "$got" = "$2" ] || {
			echo "layers.sh: $1: $got"
			rc=1
		}
	}

	mkdir -p "$sub"/{wire,engine,verbs,net,lane,queue,mem,device,persist,compat}
	good
	check || {
		echo "layers.sh: complains of good sources"
		rc=1
	}
	bad 'wire includes engine' wire/x.c '#include "engine/qp.h"'
	bad 'wire includes skbuff.h' wire/x.h '#include <linux/skbuff.h>'
	bad 'engine includes a spinlock' engine/x.c ' #  include <linux/spinlock.h>'
	bad 'engine includes verbs' engine/x.c '#include "verbs/verbs.h"'
	bad 'engine names an sk_buff' engine/x.c 'void f(struct sk_buff *skb);'
	bad 'engine names ib_qp' engine/x.h 'struct ib_qp;'
	bad 'wire names jiffies' wire/x.c 'int f(void) { return jiffies; }'
	bad 'verbs includes net' verbs/x.c '#include "net/net.h"'
	bad 'net includes verbs' net/x.c '#include "verbs/verbs.h"'
	bad 'verbs includes ../net' verbs/x.c '#include "../net/net.h"'
	bad 'net includes <verbs>' net/x.c '#include <verbs/verbs.h>'
	bad 'lane includes verbs' lane/x.h '#include "verbs/verbs.h"'
	bad 'lane includes queue' lane/x.c '#include "queue/qinfo.h"'
	bad 'lane includes persist' lane/x.c '#include "persist/domain.h"'
	bad 'persist includes lane' persist/x.c '#include "lane/exec.h"'
	bad 'device includes queue' device/x.c '#include "queue/qinfo.h"'
	bad 'device includes mem' device/x.h '#include "mem/mr.h"'
	bad 'mem includes lane' mem/x.c '#include "lane/exec.h"'
	bad 'mem includes net' mem/x.h '#include "net/net.h"'
	bad 'queue includes mem' queue/x.c '#include "mem/mr.h"'
	bad 'queue includes verbs' queue/x.c '#include "verbs/verbs.h"'
	bad 'queue includes net' queue/x.h '#include "net/net.h"'
	bad 'a header beside the rooms' net/x.c '#include "checksum.h"'
	bad 'qicache includes its room' queue/qicache.h '#include "queue/queue.h"'
	bad 'qicache includes a lock' queue/qicache.h '#include <linux/mutex.h>'
	bad 'qicache names jiffies' queue/qicache.h 'int f(void) { return jiffies; }'
	bad 'persist includes net' persist/x.c '#include "net/net.h"'
	bad 'a version outside compat' net/x.c '#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)'
	objects 'known symbols' good \
		'extern int wire_x; void e(void) { cairn_env_emit(wire_x); __fentry__(); }'
	objects 'kmalloc' bad 'void e(void) { __kmalloc(3); }'
	objects 'engine needs queue' bad 'extern int queue_x; int e(void) { return queue_x; }'
	objects 'wire needs engine' bad 'extern int engine_x; int e(void) { return engine_x; }' wire/x
	objects 'qicache needs engine' good 'extern int engine_x; int e(void) { return engine_x; }' \
		queue/qicache
	objects 'qicache needs queue' bad 'extern int queue_x; int e(void) { return queue_x; }' \
		queue/qicache
	return $rc
}

if [ "${1:-}" = --self-test ]; then
	self_test
else
	cd "$top"
	# not those with sanitizers
	check "$top"/build/[0-9]*
fi
