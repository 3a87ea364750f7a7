#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 300
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# CAIRN_CHECK: misuse is reported with its place in the program, and the tools that
# people use have no report.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"

find_gids
check_begin

pingpong rc 4 -n 50 -s 4096
pingpong rc 4 -n 50 -s 64 -e
pingpong uc 6 -n 50 -s 4096
pingpong ud 4 -n 50 -s 1024
quiet "ping-pongs"
rping_pair 4 -C 5 -v
cm "ucmatose -b @ -C 3" "ucmatose -s @ -C 3"
# rping takes the peer's answer for the completion of its own SEND
quiet "rdma_cm tools" "send-buffer-changed .* 16 bytes"
for op in send write read; do
	perftest ${op}_bw -s 65536 -n 30
	perftest ${op}_lat -s 64 -n 50
done
perftest atomic_bw -n 50
perftest write_bw -s 64 -n 200 -q 2 -l 4
perftest send_bw -c UD -s 1024 -n 50
perftest send_bw -n 50 -e
# the client of ib_send_bw leaves its receive CQ (perftest 4.5)
quiet "perftest" "leak .* a completion queue"

if command -v fi_pingpong >/dev/null; then
	pair_run "fi_pingpong" "exec fi_pingpong -p verbs -e msg -d $DEV_B -I 20 -c -S 4096" \
		"exec fi_pingpong -p verbs -e msg -d $DEV_A -I 20 -c -S 4096 $IP_B"
	quiet "libfabric"
fi
if command -v ucx_perftest >/dev/null; then
	# its datagrams' buffers are used again when the peer's answer is there
	ucx() { echo "UCX_TLS=rc,ud UCX_NET_DEVICES=$1:1 exec ucx_perftest -p 13337"; }
	pair_run "ucx_perftest" "$(ucx $DEV_B)" "$(ucx $DEV_A) $IP_B -t tag_lat -s 64 -n 20 -w 5"
	quiet "UCX" "send-buffer-changed "
fi

run_ok "a correct program" nsenter --net=/run/netns/a misuse nothing
quiet "a correct program"
while read -r code place; do
	run_ok "$code" nsenter --net=/run/netns/a misuse "$code"
	expect "$code: reported once" "$(reports)" 1
	expect "$code: by its name" "$(grep -c "^cairn-check: $code " "$check_log")" 1
	expect_that "$code: with the place" "$(grep -c "$place" "$check_log") > 0"
	rm -f "$check_log"
done <<-EOF
	send-buffer-changed misuse_change_buffer
	key-unknown misuse_old_key
	send-queue-overflow misuse_never_signal
	region-in-use misuse_dereg_early
	leak misuse_forget_cq
	use-after-destroy misuse_late_post
	modify-attributes misuse_lack_attributes
	receive-buffer-used misuse_use_receive
	receive-late misuse_receive_late
	poll-endless misuse_poll_forever
	threads-overlap misuse_post_many
	fork-child misuse_fork
	buffer-unmapped misuse_unmap
EOF
# needed by older kernels only: with the option for what many programs do
CAIRN_CHECK=log:$check_log,strict run_ok "fork-unprotected" nsenter --net=/run/netns/a misuse fork-unprotected
expect "fork-unprotected: reported" "$(grep -c '^cairn-check: fork-unprotected ' "$check_log")" 1
rm -f "$check_log"
CAIRN_CHECK=log:$check_log,pages run_ok "touched pages" nsenter --net=/run/netns/a misuse touch
expect "touched pages: reported once" "$(reports)" 1
expect "touched pages: by their name" "$(grep -c '^cairn-check: receive-buffer-used ' "$check_log")" 1
expect_that "touched pages: with the place" "$(grep -c misuse_wait_for_byte "$check_log") > 0"
rm -f "$check_log"

unset CAIRN_CHECK
run_ok "cairn_check prints reports" nsenter --net=/run/netns/a bash -c \
	"cairn_check misuse send-buffer-changed 2>&1 | grep '^cairn-check: send-buffer-changed'"
# shellcheck disable=SC2016
run_ok "cairn_check -a ends the program" nsenter --net=/run/netns/a bash -c \
	'cairn_check -a misuse key-unknown; [ $? = 134 ]'
run_fail "cairn_check without a program" cairn_check
