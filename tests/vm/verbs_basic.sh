#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 720
# kernels: 6.1 6.12
# boot: shared
#
# Verbs that the usual tools do not use, and their error codes.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=$((180 * ${CAIRN_TIMEOUT_SCALE:-1}))
# user-mode Linux has no function tracer, nor has the kernel with KCSAN
probe=1
case ${KVER:-} in uml | kcsan | rt) probe=0 ;; esac
[ $probe = 0 ] || insmod "$(kmod cairn_delay)" || bail "no probe"
points verbs_basic
points nsenter --net=/run/netns/a keys reply_fails_while_tried
points nsenter --net=/run/netns/a keys bound_while_it_ends
[ $probe = 0 ] || rmmod cairn_delay
points mw
run_ok "both directions, all operations" verbs_verify -n 300
run_ok "... over IPv6, path MTU 4096" verbs_verify -n 200 -f 6 -m 4096
run_ok "... over link-local addresses" verbs_verify -n 100 -f l -m 256
run_ok "... of UC" verbs_verify -n 200 -c uc
run_ok "... of UD" verbs_verify -n 200 -c ud -m 2048
run_ok "... with events, 4 QPs" verbs_verify -n 100 -q 4 -e
run_ok "... with receives posted late" verbs_verify -n 100 -R
run_ok "... of up to 1 MB" verbs_verify -n 20 -s 1000000 -d 4 -m 4096
run_ok "... 32 deep" verbs_verify -n 300 -q 2 -d 32 -s 5000
