# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Functions for all tests in the VM. A test is an executable
# tests/vm/NAME.sh that begins with
#
#   # topology: pair     pair | interop | none (default pair)
#   # timeout: 60        seconds for the whole script
#   # kernels: 6.1 6.12  default both; or kernels of scripts/test/vmtest: debug gcov
#   # full: 6.12 (WHAT)  parts that do not depend on the kernel run on this one only;
#                        WHAT names the parts. Default: all on each
#   # once: 6.12         no part depends on the kernel: "make test" runs the test on
#                        this one only
#   # boot: shared       shared (several tests in one boot) | own | reload (with
#                        others that unload the module) | soak (only when it is asked
#                        for by name)
#   # nvdimm: 256M       an NVDIMM with a devdax namespace, /dev/dax0.0
#   # mem: 3G            the guest's memory
#   # cpus: 2            CPUs that the VM has also where others get one (CAIRN_CPUS=1);
#                        "2 (6.12)": on that kernel only
#   # module-args: ...   parameters for cairn.ko
#   # icount: yes        time is the number of instructions (scripts/vm/run --icount)
#   # append: ...        more kernel command line
#   # dmesg-allow: REGEX expected kernel log lines (one per header line)
#
# sources this file, says "plan N" (optional) and prints its points with the
# functions below. It runs as root; processes that it leaves running are killed. In a
# shared boot it must leave devices and addresses as it found them.

set -u

# time limits of a command, in seconds; the caller may set others
RUN_TIMEOUT=${RUN_TIMEOUT:-$((60 * ${CAIRN_TIMEOUT_SCALE:-1}))}
PAIR_TIMEOUT=${PAIR_TIMEOUT:-$((60 * ${CAIRN_TIMEOUT_SCALE:-1}))}

IP_A=10.77.0.1 IP_B=10.77.0.2
IP6_A=fd77::1 IP6_B=fd77::2
IF_A=va IF_B=vb
DEV_A=cairn_a DEV_B=cairn_b
[ "${CAIRN_TOPOLOGY:-pair}" != interop ] || DEV_A=rxe0
# rdma_rxe cannot talk over the wire between two devices of one namespace: to
# try a test with it, both ends are one device
if [ "${CAIRN_LINK_TYPE:-cairn}:${CAIRN_TOPOLOGY:-pair}" = rxe:pair ]; then
	DEV_B=$DEV_A IP_B=$IP_A IP6_B=$IP6_A IF_B=$IF_A
fi
export IP_A IP_B IP6_A IP6_B IF_A IF_B DEV_A DEV_B
# the devices for the programs of tests/vm/src, and the directory of these
export CAIRN_A=$DEV_A CAIRN_B=$DEV_B
PROGS=${CAIRN_BUILD:-$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)/build}/vmtests
PATH=$PATH:$PROGS
# kmod NAME: the file of a module of tests/vm/kmod
kmod() { echo "$PROGS/kmod/$(uname -r)/$1.ko"; }

lib_planned=0 lib_done=0 lib_failed=0 lib_traffics=0 lib_last=$SECONDS
lib_tmp=$(mktemp -d /tmp/cairn-test.XXXXXX)
lib_groups=()

echo "KTAP version 1"

# full || return: leave a part out if the header line "full:" names another kernel,
# except in soaks
full() { [ "${CAIRN_FULL:-1}" = 1 ] || [ "${CAIRN_SOAK:-0}" = 1 ]; }

# --- points ---------------------------------------------------------------

plan() {
	lib_planned=$1
	echo "1..$1"
}

# every line of output that is not a point is a diagnostic
diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

# print the time of a slow point
lib_took() {
	[ $((SECONDS - lib_last)) -lt 30 ] || diag "that took $((SECONDS - lib_last)) s"
	lib_last=$SECONDS
}

ok() {
	lib_done=$((lib_done + 1))
	echo "ok $lib_done - $*"
	lib_took
}

not_ok() {
	lib_done=$((lib_done + 1))
	lib_failed=$((lib_failed + 1))
	echo "not ok $lib_done - $*"
	lib_took
}

# skip NAME REASON: this point cannot be tried here
skip() {
	lib_done=$((lib_done + 1))
	echo "ok $lib_done - $1 # SKIP ${2:-}"
}

# skip_all REASON: before the first point; ends the test
skip_all() {
	echo "1..0 # SKIP $*"
	lib_planned=-1
	exit 0
}

# a kernel with PREEMPT_RT?
realtime() { [[ $(uname -v) == *PREEMPT_RT* ]]; }

usermode() { grep -q 'User Mode Linux' /proc/cpuinfo; }

# /dev/dax0.0, before the first point; no kernel with PREEMPT_RT has one
need_devdax() {
	[ -c /dev/dax0.0 ] && return
	usermode && skip_all "no devdax in user-mode Linux"
	realtime && skip_all "no devdax with PREEMPT_RT"
	bail "no devdax"
}

# bail REASON: the rest of the test would make no sense
bail() {
	echo "Bail out! $*"
	exit 1
}

# expect NAME ACTUAL EXPECTED
expect() {
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1"
		diag "got '$2', expected '$3'"
	fi
}

# expect_that NAME ARITHMETIC: 'x > 3 && y < 2'
expect_that() {
	if (($2)); then
		ok "$1"
	else
		not_ok "$1"
		diag "$2"
	fi
}

# --- commands -------------------------------------------------------------

# run a program in the namespace of end a or b
lib_in() {
	local ns=$1

	shift
	if [ -e "/run/netns/$ns" ]; then
		ip netns exec "$ns" "$@"
	else
		"$@"
	fi
}

in_a() { lib_in a "$@"; }
in_b() { lib_in b "$@"; }

# the end of a log, as a diagnostic
lib_show() {
	tail -n "${2:-30}" "$1" | sed 's/^/# | /'
}

# lib_wait SECONDS PID: its exit status, or 124 if it has not ended by then
lib_wait() {
	local end=$((SECONDS + $1)) timer ended rc

	# bash 5.2 may miss a child that ends as the wait begins; the end of another one
	# wakes it. So the timer is a short one.
	while :; do
		sleep $(($1 < 5 ? $1 : 5)) &
		timer=$! ended=
		wait -n -p ended "$2" "$timer"
		rc=$?
		[ "$ended" = "$timer" ] || break
		[ $SECONDS -lt $end ] || return 124
	done
	{
		kill -KILL "$timer"
		wait "$timer"
	} 2>/dev/null
	return $rc
}

# Run a program or a function under a time limit, as a process group of its
# own, so that whatever it starts can be killed with it.
lib_run() {
	local rc=0 pid

	set -m
	(trap - EXIT TERM INT && "$@") >"$lib_tmp/out" 2>&1 </dev/null &
	pid=$!
	set +m
	lib_wait "$RUN_TIMEOUT" $pid || rc=$?
	[ $rc != 124 ] || stop $pid
	return $rc
}

# run_ok NAME CMD...: passes if CMD exits with 0 in time
run_ok() {
	local name=$1 rc=0

	shift
	lib_run "$@" || rc=$?
	if [ $rc = 0 ]; then
		ok "$name"
		return 0
	fi
	not_ok "$name"
	diag "$* -> $(lib_status $rc "$RUN_TIMEOUT")"
	lib_show "$lib_tmp/out"
	return 1
}

# run_fail NAME CMD...: passes if CMD exits with another status, by itself
run_fail() {
	local name=$1 rc=0

	shift
	lib_run "$@" || rc=$?
	if [ $rc != 0 ] && [ $rc -lt 124 ]; then
		ok "$name"
		return 0
	fi
	not_ok "$name"
	diag "$* -> $(lib_status $rc "$RUN_TIMEOUT")"
	lib_show "$lib_tmp/out"
	return 1
}

# points CMD...: run a program that prints KTAP itself, make its points ours
points() {
	local rc=0 failed=$lib_failed line name

	lib_run "$@" || rc=$?
	while IFS= read -r line; do
		name=${line#*ok }
		name=${name#* }
		case $line in
		"ok "*"# SKIP "*) skip "${name%% # SKIP*}" "${name#*# SKIP }" ;;
		"ok "*) ok "$name" ;;
		"not ok "*) not_ok "$name" ;;
		"KTAP version"* | 1..*) ;;
		*) echo "$line" ;;
		esac
	done <"$lib_tmp/out"
	if [ $rc != 0 ] && [ $lib_failed = "$failed" ]; then
		not_ok "$*"
		diag "$(lib_status $rc "$RUN_TIMEOUT")"
	fi
	return $rc
}

# the output of the last run_ok, run_fail or pair_run (the client)
output() { cat "$lib_tmp/out"; }
# the output of the server of the last pair_run
server_output() { cat "$lib_tmp/server"; }

lib_status() {
	case $1 in
	killed) echo "killed, its client had failed" ;;
	124 | 137) echo "no end after $2 s" ;;
	139) echo "segmentation fault" ;;
	134) echo "abort" ;;
	*) echo "exit status $1" ;;
	esac
}

# the wait between two polls; starting "sleep" would cost more in emulation
exec {lib_never}<> <(:)
nap() { read -rt 0.05 -u "$lib_never" || :; }

# wait_for SECONDS CMD...: poll until CMD succeeds; a busy machine has longer
wait_for() {
	local end=$((SECONDS + $1 * ${CAIRN_TIMEOUT_SCALE:-1} + 1))

	shift
	type "$1" >/dev/null 2>&1 || bail "wait_for: there is no $1"
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		nap
	done
}

# add the links of the topology "pair" after the module was loaded again
links_again() {
	in_a rdma link add "$DEV_A" type cairn netdev "$IF_A" &&
		in_b rdma link add "$DEV_B" type cairn netdev "$IF_B" &&
		wait_for 20 port_is "$DEV_A" ACTIVE && wait_for 20 port_is "$DEV_B" ACTIVE
}

# start a|b LOG 'COMMAND LINE': in the background, as a process group of its
# own; its pid is left in $started
start() {
	local in=() words=(bash -c "$3") plain=()

	# no function in between: $! must be in the namespace (lib_listeners)
	[ ! -e "/run/netns/$1" ] || in=(ip netns exec "$1")
	# plain words need no shell, which takes long to start in emulation
	[[ $3 == *[^a-zA-Z0-9_./:=,%@+\ -]* ]] || read -ra plain <<<"${3#exec }"
	! type -P "${plain[0]-}" >/dev/null || words=("${plain[@]}")
	# remove the output of an earlier command
	: >"$2"
	set -m
	"${in[@]}" "${words[@]}" >"$2" 2>&1 </dev/null &
	started=$!
	set +m
	lib_groups+=("$started")
}

# start_server a|b LOG 'COMMAND LINE': the same, of a command that says "listening"
start_server() {
	start "$@"
	wait_for 60 grep -q listening "$2" || lib_show "$2"
}

# expect_exit NAME SECONDS PID STATUS: a started command ends by itself
expect_exit() {
	local rc=0

	lib_wait $(($2 * ${CAIRN_TIMEOUT_SCALE:-1})) "$3" || rc=$?
	expect "$1" $rc "$4"
}

# stop PID: kill a started command and all that it started
stop() {
	kill -TERM -- "-$1" 2>/dev/null
	wait_for 2 lib_gone "$1" || kill -KILL -- "-$1" 2>/dev/null
	wait "$1" 2>/dev/null
	return 0
}

lib_gone() { ! kill -0 -- "-$1" 2>/dev/null; }

# The listeners in the network namespace of process $1, left in $listeners: TCP
# sockets, and with $2 set rdma_cm's among the rdma resources. Mostly without
# other programs: to start one takes long in emulation.
lib_listeners() {
	local f state

	listeners=0
	for f in /proc/"$1"/net/tcp{,6}; do
		while read -r _ _ _ state _; do
			[ "$state" != 0A ] || listeners=$((listeners + 1))
		done 2>/dev/null <"$f"
	done
	if [ $listeners = 0 ] && [ -n "$2" ]; then
		listeners=$(rdma resource show cm_id 2>/dev/null | grep -c 'state LISTEN')
	fi
}

# Is the server $1 ready, or has it ended? $2: its log, $3: the listeners before it.
# Without PAIR_CM=1 rdma_cm's listeners are counted at some polls only.
lib_listens() {
	local cm=${PAIR_CM:-}

	lib_looks=$((lib_looks + 1))
	((lib_looks % 16)) || cm=1
	kill -0 "$1" 2>/dev/null || return 0
	if [ -n "${PAIR_READY:-}" ]; then
		grep -qE -e "$PAIR_READY" "$2"
	else
		lib_listeners "$1" "$cm"
		[ "$listeners" -gt "$3" ]
	fi
}

# Count the listeners before a server is started; 0 if no started command runs.
lib_listeners_before() {
	local pid

	listeners=0
	for pid in "${lib_groups[@]}"; do
		if ! lib_gone "$pid"; then
			listeners=$(lib_in "$1" cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -c ' 0A ')
			return
		fi
	done
}

# pair_run NAME SERVERCMD CLIENTCMD: the server in b, and once it listens the
# client in a; both must exit with 0, each within PAIR_TIMEOUT seconds.
# PAIR_READY=REGEX names the line of the server's output that says it listens,
# PAIR_CM=1 says that it listens by rdma_cm.
# PAIR_SERVER=a swaps the ends.
# Their exit statuses are left in $client_rc and $server_rc.
pair_run() {
	local name=$1 server client before lib_looks=0 listeners

	server_rc=0 client_rc=0
	: >"$lib_tmp/out"
	# remove the last server's line that it listens
	: >"$lib_tmp/server"
	lib_listeners_before "${PAIR_SERVER:-b}"
	before=$listeners
	start "${PAIR_SERVER:-b}" "$lib_tmp/server" "$2"
	server=$started
	if ! wait_for "$PAIR_TIMEOUT" lib_listens "$server" "$lib_tmp/server" "$before"; then
		stop "$server"
		not_ok "$name"
		diag "the server does not listen: $2"
		lib_show "$lib_tmp/server"
		return 1
	fi
	if [ "${PAIR_SERVER:-b}" = b ]; then
		start a "$lib_tmp/out" "$3"
	else
		start b "$lib_tmp/out" "$3"
	fi
	client=$started
	lib_wait "$PAIR_TIMEOUT" "$client" || client_rc=$?
	# do not wait for a server whose client failed
	if [ $client_rc = 0 ]; then
		lib_wait "$PAIR_TIMEOUT" "$server" || server_rc=$?
	else
		lib_wait 1 "$server" || server_rc=$?
		[ $server_rc != 124 ] || server_rc=killed
	fi
	stop "$client"
	stop "$server"
	if [ "$client_rc" = 0 ] && [ "$server_rc" = 0 ]; then
		ok "$name"
		return 0
	fi
	not_ok "$name"
	diag "client: $3 -> $(lib_status "$client_rc" "$PAIR_TIMEOUT")"
	lib_show "$lib_tmp/out"
	diag "server: $2 -> $(lib_status "$server_rc" "$PAIR_TIMEOUT")"
	lib_show "$lib_tmp/server"
	return 1
}

# traffic_start OPTION...: start verified traffic from a, with TRAFFIC=PROGRAM, until the
# time of its options. Its pid is left in $traffic, its log in $traffic_log
traffic_start() {
	traffic_log=$lib_tmp/traffic.$((++lib_traffics))
	start a "$traffic_log" "${TRAFFIC:-verbs_verify} $*"
	traffic=$started
	wait_for 30 grep -q running "$traffic_log" && return
	not_ok "traffic starts: $*"
	lib_show "$traffic_log"
}

# traffic_ends NAME: the traffic must end by itself and succeed
traffic_ends() {
	if lib_wait $((60 * ${CAIRN_TIMEOUT_SCALE:-1})) "$traffic"; then
		ok "$1"
	else
		not_ok "$1"
		stop "$traffic"
	fi
	lib_show "$traffic_log" 4
}

# --- state of the device --------------------------------------------------

# counter DEV NAME: a hardware counter of port 1
counter() {
	local count

	# no program, as each takes long to start in emulation
	read -r count <"/sys/class/infiniband/$1/ports/1/hw_counters/$2" && echo "$count"
}

# counter_of_both NAME: its sum over the two devices
counter_of_both() { echo $(($(counter "$DEV_A" "$1") + $(counter "$DEV_B" "$1"))); }

# idle_time MICROSECONDS|default: of both devices
idle_time() {
	in_a cairn_set "$DEV_A" idle-time="$1" && in_b cairn_set "$DEV_B" idle-time="$1"
}

# gid_of ADDRESS: the GID of an IPv4 or IPv6 address as sysfs prints it, in $gid
gid_of() {
	local words=() left=() right=() i

	if [[ $1 == *.* ]]; then
		IFS=. read -ra words <<<"$1"
		printf -v gid '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' "${words[@]}"
		return
	fi
	IFS=: read -ra left <<<"${1%%::*}"
	[[ $1 != *::* ]] || IFS=: read -ra right <<<"${1##*::}"
	words=("${left[@]}")
	for ((i = ${#left[@]} + ${#right[@]}; i < 8; i++)); do
		words+=(0)
	done
	words+=("${right[@]}")
	printf -v gid ':%04x' "${words[@]/#/0x}"
	gid=${gid#:}
}

# gid_index DEV ADDRESS: index of the RoCE v2 GID of an IPv4 or IPv6 address
gid_index() {
	local ns=a gid

	[ "$1" != "$DEV_B" ] || ns=b
	gid_of "$2"
	# the table shows an entry's type only in the namespace of its netdev
	# shellcheck disable=SC2016
	lib_in "$ns" bash -c '
		cd "/sys/class/infiniband/$2/ports/1" || exit
		for ((i = 0; ; i++)); do
			read -r gid 2>/dev/null <"gids/$i" || exit 1
			[ "$gid" = "$1" ] || continue
			read -r type 2>/dev/null <"gid_attrs/types/$i" || continue
			[ "$type" = "RoCE v2" ] && echo "$i" && exit 0
		done' - "$gid" "$1" </dev/null
}

port_state() {
	local s

	s=$(cat "/sys/class/infiniband/$1/ports/1/state") || return 1
	echo "${s#*: }"
}

# slow_begin, slow_end: a control group whose processes have a hundredth of a CPU together. Its
# directory is in $slow. slow_begin fails where there is no bandwidth of control groups.
slow_begin() {
	slow=/sys/fs/cgroup/slow
	echo +cpu 2>/dev/null >/sys/fs/cgroup/cgroup.subtree_control && mkdir $slow &&
		[ -e $slow/cpu.max ] && echo 1000 100000 >$slow/cpu.max
}
slow_end() {
	rmdir $slow
	echo -cpu >/sys/fs/cgroup/cgroup.subtree_control
}

cm_listens() { rdma resource show cm_id | grep -q 'state LISTEN'; }
port_is() { [ "$(port_state "$1")" = "$2" ]; }

# --- the end --------------------------------------------------------------

lib_exit() {
	local rc=$? g

	# a child that is killed before its exec comes here too
	[ "$BASHPID" = $$ ] || exit $rc
	for g in "${lib_groups[@]}"; do
		kill -KILL -- "-$g" 2>/dev/null
	done
	rm -rf "$lib_tmp"
	[ "$lib_planned" != 0 ] || echo "1..$lib_done"
	[ "$lib_failed" = 0 ] || rc=1
	exit $rc
}
trap lib_exit EXIT
trap 'exit 1' TERM INT
