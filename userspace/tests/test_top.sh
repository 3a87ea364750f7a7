#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# cairn_top with a fake program "rdma".
#
#   test_top.sh HELPER-DIR
set -u

source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "$1/top.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=userspace/tests/result.sh
. "${0%/*}/result.sh"

mkdir "$work/bin"
export PATH=$work/bin:$PATH WORK=$work
# an idle QP, one whose packets and MSN wrap between two calls, one with all waits, others' QPs
cat >"$work/bin/rdma" <<'END'
#!/bin/bash
echo "$*" >>"$WORK/calls"
[ ! -e "$WORK/fail" ] || exit 1
i=$(wc -l <"$WORK/calls")
psn=$(((16777000 + (i - 1) * 1000) % 16777216))
msn=$(((i - 1) * 500))
{
echo "link c/1 lqpn 1 type GSI state RTS sq-psn 0 comm [ib_core] drv_state 3 drv_packets-sent 0 drv_packets-unacked 0 drv_msn 0 drv_wr-outstanding 0 drv_retries-left 0 drv_rnr-retries-left 0 drv_rate-kbps 0 drv_cc-enabled 0 drv_cc-kbps 0 "
echo "link c/1 lqpn 17 rqpn 18 type RC state RTS pid 5 comm busy bee drv_packets-sent $psn drv_packets-unacked 1010 drv_msn $msn drv_wr-outstanding 3 drv_retries-left 6 drv_rnr-retries-left 7 drv_persists-outstanding 0 drv_host-flushes-pending 0 drv_rate-kbps 0 drv_rate-waiting 0 drv_cc-enabled 0 drv_cc-kbps 0 drv_send-ns 999 drv_answer-ns 1234567 drv_durable-ns 0 "
echo "link c/1 lqpn 19 rqpn 20 type RC state ERR pid 6 comm "$'sl\033[2J\377ow'" drv_packets-sent 5 drv_packets-unacked 0 drv_msn 0 drv_wr-outstanding 0 drv_retries-left 7 drv_rnr-retries-left 7 drv_persists-outstanding 2 drv_host-flushes-pending 1 drv_rate-kbps 8000 drv_rate-waiting 1 drv_cc-enabled 1 drv_cc-kbps 900 drv_send-ns 0 drv_answer-ns 0 drv_durable-ns 4000000000 "
echo "link c/1 lqpn 21 rqpn 22 type RC state RTS pid 7 comm "$'a drv_ 1 pid \033c'" drv_packets-sent 0 drv_packets-unacked 0 drv_msn 0 drv_wr-outstanding 0 drv_retries-left 7 drv_rnr-retries-left 7 "
echo "link mlx/1 lqpn 3 type RC state RTS comm other"
} | if [ -e "$WORK/broken-lines" ]; then sed 's/ drv_/\n    drv_/g'; else cat; fi
END
chmod +x "$work/bin/rdma"

shown=("$work/out")

top() {
	: >"$work/calls"
	"$source/tools/cairn_top" "$@" >"$work/out" 2>&1
}

# column NUMBER of the line of queue pair $2
column() { awk -v c="$1" -v q="$2" '$2 == q { print $c }' "$work/out"; }

table() {
	top -n 0.5 -c 1 && [ "$(wc -l <"$work/out")" = 5 ] && [ "$(column 1 17)" = c/1 ] &&
		[ "$(column 5 17)" = 18 ] && [ "$(column 5 1)" = - ] &&
		[ "$(column 8 17)" = 1010 ] && [ "$(column 9 17)" = 3 ] && [ "$(column 10 17)" = 6 ] &&
		[ "$(column 17 17)" = busy ] && [ "$(column 18 17)" = bee/5 ] && [ "$(column 17 1)" = '[ib_core]' ]
}

# rates, from intervals that may be too long on a busy machine
rates() {
	local sent taken

	sent=$(column 6 17) taken=$(column 7 17)
	[ "$sent" -gt 0 ] && [ "$sent" -le 2100 ] && [ $((sent - 2 * taken)) -le 2 ] &&
		[ $((2 * taken - sent)) -le 2 ] && [ "$(column 6 1)" = 0 ] && [ "$(column 7 19)" = 0 ]
}

waits() {
	[ "$(column 16 19)" = rate,durable,flush,error ] && [ "$(column 12 19)" = 900 ] &&
		[ "$(column 16 17)" = - ] && [ "$(column 12 17)" = - ]
}

# names of programs have any bytes, and may look like fields
names() { [ "$(column 17 19)" = 'sl?[2J?ow/6' ] && ! LC_ALL=C grep -q '[^ -~]' "$work/out"; }

# in us; a device of another version does not have them
latencies() {
	[ "$(column 13 17)" = 1.0 ] && [ "$(column 14 17)" = 1234.6 ] && [ "$(column 15 17)" = - ] &&
		[ "$(column 13 19)" = - ] && [ "$(column 15 19)" = 4000000.0 ] && [ "$(column 13 1)" = - ]
}

# as rdma of iproute2 6.15 prints it
broken_lines() {
	: >"$work/broken-lines"
	table && waits && latencies
	[ $? = 0 ] && rm "$work/broken-lines"
}

device() { top -n 0 -c 2 c && [ "$(grep -c 'resource show qp link c -dd' "$work/calls")" = 3 ] && [ "$(grep -c QPN "$work/out")" = 2 ]; }

fails() {
	: >"$work/fail"
	top -c 1
	[ $? = 1 ] && rm "$work/fail"
}

# its files go with a terminal that is closed
closed_terminal() {
	local pid

	: >"$work/calls"
	mkdir "$work/tmp"
	TMPDIR=$work/tmp env --default-signal=HUP "$source/tools/cairn_top" -n 0.2 >"$work/out" 2>&1 &
	pid=$!
	until [ -s "$work/calls" ]; do
		sleep 0.02
	done
	kill -HUP $pid
	wait $pid
	[ $? = 130 ] && rmdir "$work/tmp"
}

wrong_commands() {
	local args

	for args in '-n x' '-n .' '-n 1.2.3' '-c' '-c 1.5' 'a b' '-z'; do
		# shellcheck disable=SC2086
		top $args
		[ $? = 2 ] || { echo "# $args"; return 1; }
	done
}

echo "KTAP version 1"
for t in table rates waits names latencies broken_lines device fails closed_terminal wrong_commands; do
	$t
	result $? $t
done
result_end
