#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 300
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# Faults on demand (cairn_fault): each act and its effect, rights, and devices that end
# while packets wait.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=$((200 * ${CAIRN_TIMEOUT_SCALE:-1}))
points wire_faults

# --- the program -----------------------------------------------------------------------

run_ok "rules are added" cairn_fault "$DEV_A" add sent:opcode=ACK,every=3 \
	received:qp=77,size=1-4096,act=delay,time=5ms
run_ok "... and listed" cairn_fault "$DEV_A" list
expect "... as they are" "$(output | head -n 1)" "sent:act=drop,opcode=ACK,every=3 hits=0 seen=0"
expect "... in their order" "$(output | sed -n 2p)" \
	"received:act=delay,time=5000us,qp=77,size=1-4096 hits=0 seen=0"
run_ok "the other device" cairn_fault "$DEV_B" list
expect "... has none" "$(output)" ""
run_ok "answers are added" cairn_fault "$DEV_B" add received:opcode=WRITE,nak=remote-access \
	received:rnr=14,nth=2 received:act=qp-fatal,qp=9
run_ok "... and listed" cairn_fault "$DEV_B" list
expect "... as they are" "$(output | cut -d ' ' -f 1 | paste -sd ' ')" \
	"received:nak=remote-access,opcode=WRITE received:rnr=14,nth=2 received:act=qp-fatal,qp=9"
run_ok "peers, keys and times are added" cairn_fault "$DEV_A" add sent:peer=10.0.0.2,key=4660 \
	received:peer=fd00::2,from=10ms,until=2s
expect "... and listed" "$(cairn_fault "$DEV_A" list | cut -d ' ' -f 1 | tail -n 2 | paste -sd ' ')" \
	"sent:act=drop,peer=10.0.0.2,key=0x1234 received:act=drop,peer=fd00::2,from=10ms,until=2000ms"
run_ok "... and removed" cairn_fault "$DEV_A" clear
run_ok "the others come again" cairn_fault "$DEV_A" add sent:opcode=ACK,every=3 received:qp=77
run_ok "what is done at once" cairn_fault "$DEV_B" add now:event=port-up
expect "... is not kept" "$(cairn_fault "$DEV_B" list | wc -l)" 3
run_ok "they are removed" cairn_fault "$DEV_B" clear
run_fail "a wrong rule" cairn_fault "$DEV_A" add sent:act=nonsense
expect "... is named" "$(output)" "cairn_fault: sent:act=nonsense: Invalid argument"

# --- rights ----------------------------------------------------------------------------

chmod 666 /dev/infiniband/uverbs*
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
for what in "add sent" "add now:event=device-fatal" "add now:act=qp-fatal,qp=1" list clear; do
	# shellcheck disable=SC2086
	run_fail "a user: $what" as_nobody cairn_fault "$DEV_A" $what
	expect "... for want of rights" "$(output | grep -c 'not permitted')" 1
done
run_fail "nor does root of a user namespace" as_nobody unshare -Urn cairn_fault "$DEV_A" add sent
expect "the rules are those of before" "$(cairn_fault "$DEV_A" list | wc -l)" 2
run_ok "they are removed" cairn_fault "$DEV_A" clear
expect "... all" "$(cairn_fault "$DEV_A" list)" ""

# --- events of a device -----------------------------------------------------------------

run_ok "a port that goes down and up makes few events, and the last is right" in_a wire_faults flap
in_a ip addr add "$IP6_A/64" dev "$IF_A" nodad

# --- devices that end ------------------------------------------------------------------

run_ok "packets wait" wire_faults hold
# as a card that is pulled: the event, then the removal
# the budget of events may be used up by those before
run_ok "... their end is announced" wait_for 30 cairn_fault "$DEV_A" add now:event=device-fatal
rdma link delete "$DEV_A"
rdma link delete "$DEV_B"
device_gone() { [ ! -e "/sys/class/infiniband/$DEV_A" ] && [ ! -e "/sys/class/infiniband/$DEV_B" ]; }
run_ok "... while their devices go" wait_for 30 device_gone
run_ok "... and come again" links_again
expect "without rules" "$(cairn_fault "$DEV_A" list)$(cairn_fault "$DEV_B" list)" ""
run_ok "traffic" verbs_verify -n 30
