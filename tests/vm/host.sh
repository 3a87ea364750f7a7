# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Points for every host, however its kernel was configured or booted. Source this file
# after lib.sh and tools.sh. The module is loaded and has devices by then; at the end it
# is unloaded and loaded again.

# a host without IPv6 does not have this file
host_families=4
[ ! -e /proc/sys/net/ipv6 ] || host_families='4 6'

# host_is NAME COMMAND...: is the host set up as the test's header lines say?
host_is() {
	run_ok "the host: $1" "${@:2}" || bail "the host is not set up for this test"
}

host_works() {
	local f t

	find_gids "$host_families"
	for f in $host_families; do
		pingpong rc "$f" -n 100 -s 1024
		pingpong ud "$f" -n 100 -s 1024 -e
		rping_pair "$f" -C 10
	done
	run_ok "verbs of each kind" in_a verbs_verify -n 60 -q 2
	# tests with a process that never ends need a second CPU or a module of their own
	points nsenter --net=/run/netns/a release released_under_its_own_writes
	points nsenter --net=/run/netns/a release released_under_writes
	for t in not_pinned transfers implicit refused unreliable; do
		points nsenter --net=/run/netns/a odp $t
	done
	[ "$host_families" = '4 6' ] || points in_a no_ipv6
	run_ok "the module is unloaded" rmmod cairn
	run_ok "... and loaded" modprobe cairn
	links_again || bail "no devices"
	run_ok "... and works" in_a verbs_verify -n 20
}
