#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 300
# kernels: 6.1 6.12
# once: 6.12
# boot: own
#
# The targets of cairn_log and cairn_chain do not authenticate their writers; IPsec does.
# b requires it of all RoCE packets. The address of a has the keys, a second address there
# is a stranger: it can neither write nor take an epoch.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=$((120 * ${CAIRN_TIMEOUT_SCALE:-1}))
IP_STRANGER=10.77.0.3
size=16M
log=$lib_tmp/log hop=$lib_tmp/hop

# sa SOURCE DESTINATION SPI: the security association of both hosts
sa() {
	for end in a b; do
		lib_in $end ip xfrm state add src "$1" dst "$2" proto esp spi "$3" reqid 1 \
			mode transport auth 'hmac(sha256)' "$secret" enc 'ecb(cipher_null)' ''
	done
}

# require NAMESPACE DIRECTION SELECTOR...
require() {
	lib_in "$1" ip xfrm policy add dir "$2" "${@:3}" proto udp dport 4791 \
		tmpl proto esp reqid 1 mode transport
}

# as ADDRESS: the source of what a sends
as() { in_a ip route replace "$IP_B/32" dev "$IF_A" src "$1"; }

append() { in_a cairn_log append -a "$IP_B" "$@"; }
write_chain() { in_a cairn_chain write -a "$IP_B,7481" -c 20; }
drops() { counter "$DEV_B" rx_policy_drops; }

# stranger NAME COMMAND...
stranger() {
	local before

	before=$(drops)
	as $IP_STRANGER
	run_fail "$1" "${@:2}"
	as "$IP_A"
	expect_that "... and its packets are counted" "$(drops) > $before"
}

in_a ip addr add "$IP_STRANGER/24" dev "$IF_A"
start_server b "$lib_tmp/serve" "cairn_log serve -m $log -s $size"
start_server b "$lib_tmp/chain" "cairn_chain serve -m $hop -s 8M -p 7481"

as $IP_STRANGER
run_ok "without IPsec a stranger writes" append -c -n 5
as "$IP_A"

secret=0x$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
if ! sa "$IP_A" "$IP_B" 0x101 || ! sa "$IP_B" "$IP_A" 0x102; then
	skip "writers with the key" "no IPsec"
	exit
fi
require b in src 0.0.0.0/0 dst "$IP_B"
require b out src "$IP_B" dst 0.0.0.0/0
require a in src "$IP_B" dst "$IP_A"
require a out src "$IP_A" dst "$IP_B"

run_ok "a writer with the key writes" append -n 20
run_ok "a chain takes its messages" write_chain
stranger "a stranger is not let in" append -n 5
stranger "... nor may it take over" append -t -n 5
stranger "... nor does a chain let it in" write_chain
expect "no connection but the two of writers" "$(grep -c 'writer connected' "$lib_tmp/serve")" 2
run_ok "the writer with the key goes on" append -n 20
epochs=$(sed -n 's/.*writer connected, epoch \([0-9]*\),.*/\1/p' "$lib_tmp/serve" | tr '\n' ' ')
diag "epochs: $epochs"
# shellcheck disable=SC2086
set -- $epochs
expect_that "the stranger has used up no epoch" "$3 == $2 + 1"
run_ok "what all of them wrote is there" cairn_log verify -m "$log" -s $size -k 45

for end in a b; do
	lib_in $end ip xfrm policy flush
	lib_in $end ip xfrm state flush
done
in_a ip route del "$IP_B/32" dev "$IF_A"
in_a ip addr del "$IP_STRANGER/24" dev "$IF_A"
