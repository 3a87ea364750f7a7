#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 400
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# The lessons of cairn_tutorial(7): their commands, as "make vm" runs them, show what the page
# says.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

page=$(dirname "$0")/../../userspace/man/cairn_tutorial.7
tracing=/sys/kernel/tracing
[ -e $tracing/events ] || mount -t tracefs tracefs $tracing
[ -e $tracing/events/cairn ] || skip_all "this kernel has no tracing"
[ -e /usr/bin/python3 ] || skip_all "no python3"

# of "make vm"
# shellcheck source=scripts/vm/hosts
. "$(dirname "$0")/../../scripts/vm/hosts"
export -f a b

servers() { { rdma resource show cm_id; ip netns exec b ss -Hltn; } | grep -c LISTEN; }
one_more() { [ "$(servers)" -gt "$before" ]; }

# lesson NUMBER TEXT: what is between these words of the page
lesson() { awk -v n="$1" '/^\.S[SH]/ { on = $0 ~ "Lesson " n ":" } on' "$page"; }
commands() { lesson "$1" | sed -n '/^\.EX/,/^\.EE/p' | sed '/^\.E[XE]/d; s/\\-/-/g'; }

# The commands one by one: a line that ends in & is a server, which has to listen.
run_lesson() {
	local line before

	while IFS= read -r line; do
		case $line in
		*"&")
			before=$(servers)
			eval "$line"
			wait_for 60 one_more || return 1
			;;
		*) eval "$line" ;;
		esac
	done < <(commands "$1")
	# the end of servers that end by themselves
	wait
}

lessons=$(grep -c '^\.SS Lesson' "$page")
expect "lessons" "$lessons" 6
for n in $(seq "$lessons"); do
	run_lesson "$n" >"$lib_tmp/shown" 2>&1
	while IFS= read -r pattern; do
		if grep -qE -- "$pattern" "$lib_tmp/shown"; then
			ok "lesson $n shows $pattern"
		else
			sed 's/^/# /' "$lib_tmp/shown" | head -n 60
			not_ok "lesson $n shows $pattern"
		fi
	done < <(lesson "$n" | sed -n 's/^\.\\" shows: //p')
done
expect "no rule is left" "$(cairn_fault "$DEV_A" list)$(cairn_fault "$DEV_B" list)" ""
