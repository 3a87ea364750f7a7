#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The part of the demo that runs in the VM: namespaces a and b are two hosts
# joined by an Ethernet cable (a veth pair), each with a cairn device.
set -u

failed=0

step() {
	printf '\n==> %s\n' "$1"
}

in_a() { ip netns exec a "$@"; }
in_b() { ip netns exec b "$@"; }

# Until a server in host b listens on a TCP port.
wait_listen() {
	local i

	for ((i = 0; i < 600; i++)); do
		in_b ss -Hltn "sport = :$1" | grep -q . && return
		sleep 0.05
	done
	echo "nothing listens on port $1"
	return 1
}

# both PORT SERVER -- CLIENT: runs the pair, shows the client's output
both() {
	local port=$1 server=()

	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	in_b "${server[@]}" >/tmp/server.log 2>&1 &
	wait_listen "$port" && in_a "$@" >/tmp/client.log 2>&1
	local rc=$?
	[ $rc = 0 ] || kill %% 2>/dev/null
	wait
	if [ $rc != 0 ]; then
		failed=1
		echo "FAILED: $*"
		cat /tmp/client.log /tmp/server.log
	fi
	return $rc
}

# rdma_cm listens without a TCP port: its server is ready when it says so.
rping_pair() {
	in_b rping -s -a 10.77.0.2 -C 10 -v >/tmp/server.log 2>&1 &
	local i

	for ((i = 0; i < 100; i++)); do
		in_a rping -c -a 10.77.0.2 -C 10 -v >/tmp/client.log 2>&1 && break
		sleep 0.1
	done
	wait
	grep -m 3 'ping data' /tmp/client.log || {
		failed=1
		echo 'FAILED: rping'
		cat /tmp/client.log /tmp/server.log
	}
}

echo "kernel $(uname -r)"

step 'Two hosts, each with an RDMA device on its Ethernet interface'
echo '$ ip netns exec a rdma link add cairn_a type cairn netdev va'
echo '$ ip netns exec b rdma link add cairn_b type cairn netdev vb'
in_a rdma link show

step 'What a program sees: ibv_devinfo'
in_a ibv_devinfo -d cairn_a | sed -n '1,/active_mtu/p'

step 'Ping-pong over a reliable connection (1000 messages of 4 KiB)'
both 18515 ibv_rc_pingpong -d cairn_b -g 1 -n 1000 -- \
	ibv_rc_pingpong -d cairn_a -g 1 -n 1000 10.77.0.2 &&
	tail -n 2 /tmp/client.log

step 'rping: a connection made by address, RDMA READ and WRITE, data checked'
rping_pair

step 'perftest: RDMA WRITE bandwidth, RDMA READ bandwidth, SEND latency'
for size in 4096 65536; do
	for test in ib_write_bw ib_read_bw; do
		both 18515 $test -d cairn_b -x 1 -F -s $size -n 500 -- \
			$test -d cairn_a -x 1 -F -s $size -n 500 10.77.0.2 &&
			awk -v t=$test '$1 ~ /^[0-9]+$/ && NF >= 5 {
				printf "%-12s %7d bytes  %8.1f MB/s\n", t, $1, $4
			}' /tmp/client.log
	done
done
both 18515 ib_send_lat -d cairn_b -x 1 -F -s 64 -n 1000 -- \
	ib_send_lat -d cairn_a -x 1 -F -s 64 -n 1000 10.77.0.2 &&
	awk '$1 ~ /^[0-9]+$/ && NF >= 8 {
		printf "ib_send_lat  %7d bytes  %8.1f us\n", $1, $5
	}' /tmp/client.log
echo '(an emulated CPU: a real machine is many times faster)'

step 'What the device counted'
in_a rdma statistic show link cairn_a/1 | tr ' ' '\n' |
	awk '/^[a-z_]+$/ { name = $1 } /^[0-9]+$/ && $1 > 0 && name != "" {
		printf "%-24s %s\n", name, $1; name = "" }' | head -n 16

step 'A log in persistent memory at host b, appended to by host a'
echo '$ cairn_log serve -m /dev/dax0.0        # host b: an NVDIMM, mapped as devdax'
echo '$ cairn_log append -a 10.77.0.2 -c      # host a: each record one WRITE_PERSIST'
in_b cairn_log serve -m /dev/dax0.0 >/tmp/serve.log 2>&1 &
for ((i = 0; i < 300; i++)); do
	grep -q listening /tmp/serve.log && break
	sleep 0.1
done
in_a cairn_log append -a 10.77.0.2 -c -n 300 -o /mnt/out/acked || {
	failed=1
	echo 'FAILED: cairn_log'
	cat /tmp/serve.log
}

step 'The same without end, and the power fails'
in_a cairn_log append -a 10.77.0.2 -n 1000000 -o /mnt/out/acked >/tmp/append.log 2>&1 &
for ((i = 0; i < 300; i++)); do
	[ "$(($(cat /mnt/out/acked)))" -lt 500 ] || break
	sleep 0.1
done
[ $failed = 0 ] || : >/mnt/out/failed
echo "reported as durable so far: $(($(cat /mnt/out/acked))) records"
sync -f /mnt/out
sleep 0.3	# for the output to get out
echo b >/proc/sysrq-trigger
sleep 60
