# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# The usual RDMA tools between the two ends, for tests to source after lib.sh.
# With PAIR_SERVER=a the client is in b, else in a.

declare -A gid_a gid_b
declare -A ip_a=([4]=$IP_A [6]=$IP6_A) ip_b=([4]=$IP_B [6]=$IP6_B)

# find_gids [FAMILIES]: the RoCE v2 GID of each end and each address family
find_gids() {
	local f

	for f in ${1:-4 6}; do
		gid_a[$f]=$(gid_index "$DEV_A" "${ip_a[$f]}") || bail "$DEV_A: no IPv$f GID"
		gid_b[$f]=$(gid_index "$DEV_B" "${ip_b[$f]}") || bail "$DEV_B: no IPv$f GID"
	done
}

# between FAMILY 'PROGRAM OPTIONS' 'MORE OPTIONS': the program on both ends;
# %d and %g stand for the end's device and GID index, the client gets the
# server's address as its last word
between() {
	local f=$1 on_a on_b

	on_a=${2//%d/$DEV_A}
	on_a=${on_a//%g/${gid_a[$f]}}
	on_b=${2//%d/$DEV_B}
	on_b=${on_b//%g/${gid_b[$f]}}
	# the tools exchange their addresses over IPv4
	if [ "${PAIR_SERVER:-b}" = b ]; then
		pair_run "$3" "$on_b" "$on_a $IP_B"
	else
		pair_run "$3 (reverse)" "$on_a" "$on_b $IP_A"
	fi
}

# pingpong rc|uc|ud 4|6 [OPTION]...: the contents are compared
pingpong() {
	local kind=$1 f=$2

	shift 2
	between "$f" "ibv_${kind}_pingpong -d %d -g %g -c $*" \
		"ibv_${kind}_pingpong, IPv$f, $*"
}

# perftest NAME [OPTION]...: ib_NAME
perftest() {
	# shellcheck disable=SC2034
	local tool=ib_$1 f=4 PAIR_CM=''

	shift
	[[ " $* " != *" --ipv6 "* ]] || f=6
	[[ " $* " != *" -R "* ]] || PAIR_CM=1
	between "$f" "$tool -d %d -x %g -F $*" "$tool $*"
}

# cm 'SERVER COMMAND' 'CLIENT COMMAND' [4|6]: rdma_cm tools; @ is the server's
# address, which both commands name
cm() {
	# shellcheck disable=SC2034
	local f=${3:-4} address PAIR_CM=1

	if [ "${PAIR_SERVER:-b}" = b ]; then
		address=${ip_b[$f]}
		pair_run "$2" "${1//@/$address}" "${2//@/$address}"
	else
		address=${ip_a[$f]}
		pair_run "$2 (reverse)" "${1//@/$address}" "${2//@/$address}"
	fi
}

# rping 4|6 [OPTION]...: with validation
rping_pair() {
	local f=$1

	shift
	cm "rping -s -a @ -V $*" "rping -c -a @ -V $*" "$f"
}

# check_begin: programs are checked from here on (cairn_check(1)); reports are in $check_log
check_begin() {
	check_log=$lib_tmp/reports
	export CAIRN_CHECK=log:$check_log
}

reports() { grep -c '^cairn-check: ' "$check_log" 2>/dev/null || :; }

# quiet NAME [KNOWN]: nothing was reported by what ran since the last call, but for
# reports that match
quiet() {
	[ $# = 1 ] || sed -i "/^cairn-check: $2/d" "$check_log"
	if [ "$(reports)" -gt 0 ]; then
		sed 's/^/# /' "$check_log"
		not_ok "$1: no report"
	else
		ok "$1: no report"
	fi
	rm -f "$check_log"
}
