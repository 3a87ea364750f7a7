#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Leaders of a log, elected by three real members of etcd in a network namespace of
# their own. A member of etcd is killed and started again every few seconds, and once
# all of them.
#
#   test_leader.sh DIRECTORY     with the program log_leaders
#   CAIRN_CHANGES=n              so many changes of the leader (20)
set -u

build=$1
changes=${CAIRN_CHANGES:-20}

if [ "${2-}" != inside ]; then
	exec unshare --user --map-root-user --net "$0" "$build" inside
fi
ip link set lo up || exit 1
dir=$(mktemp -d)
declare -A member
cluster=a=http://127.0.0.1:2381,b=http://127.0.0.1:2382,c=http://127.0.0.1:2383

etcd_start() {
	local n=$1 name=$2 state=$3

	etcd --name "$name" --data-dir "$dir/$name" --log-level error \
		--heartbeat-interval 100 --election-timeout 600 \
		--initial-cluster "$cluster" --initial-cluster-state "$state" \
		--initial-advertise-peer-urls "http://127.0.0.1:238$n" \
		--listen-peer-urls "http://127.0.0.1:238$n" \
		--advertise-client-urls "http://127.0.0.1:239$n" \
		--listen-client-urls "http://127.0.0.1:239$n" \
		>>"$dir/$name.log" 2>&1 &
	member[$name]=$!
	disown	# its death is no news
}

etcd_kill() {
	kill -KILL "${member[$1]}"
}

# shellcheck disable=SC2317 # the trap calls it
cleanup() {
	[ -z "${program-}" ] || kill -KILL "$program" 2>/dev/null
	for name in "${!member[@]}"; do
		kill -KILL "${member[$name]}" 2>/dev/null
	done
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' TERM INT

etcd_start 1 a new
etcd_start 2 b new
etcd_start 3 c new
# with a slash at the end, as users write it
"$build/log_leaders" http://127.0.0.1:2391/,http://127.0.0.1:2392/,http://127.0.0.1:2393/ \
	"$changes" &
program=$!
round=0
while sleep 2 && kill -0 $program 2>/dev/null; do
	round=$((round + 1))
	case $((round % 4)) in
	0) etcd_kill a && sleep 1 && etcd_start 1 a existing ;;
	1) etcd_kill b && sleep 1 && etcd_start 2 b existing ;;
	2) etcd_kill c && sleep 1 && etcd_start 3 c existing ;;
	esac
	[ $round = 5 ] || continue
	etcd_kill a
	etcd_kill b
	etcd_kill c
	sleep 2
	etcd_start 1 a existing
	etcd_start 2 b existing
	etcd_start 3 c existing
done
wait $program
rc=$?
program=
exit $rc
