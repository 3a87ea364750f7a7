#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: none
# timeout: 180
# kernels: 6.1 6.12
#
# NFS over RDMA, versions 3 and 4.2: a tree is copied, compared after a new
# mount, and removed.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/ulp.sh
. "$(dirname "$0")/ulp.sh"

ulp_programs rpc.nfsd rpc.mountd exportfs mount.nfs rpcbind
ulp_modules nfsd rpcrdma nfsv3 nfsv4
ulp_up
EXPORT=$lib_tmp/export MNT=$lib_tmp/mnt TREE=$lib_tmp/tree

server_up() {
	mkdir -p "$EXPORT" "$MNT" /run/rpcbind /run/sendsigs.omit.d /var/lib/nfs/v4recovery
	mount -t tmpfs none "$EXPORT"
	mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
	rpcbind -w
	wait_for 10 test -S /run/rpcbind.sock
	exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=0 "*:$EXPORT" &&
		rpc.nfsd 4 || return 1
	echo "rdma 20049" >/proc/fs/nfsd/portlist || return 1
	rpc.mountd || return 1
	# no client has state to reclaim
	echo Y >/proc/fs/nfsd/v4_end_grace
	grep rdma /proc/fs/nfsd/portlist && grep -x 4 /proc/fs/nfsd/threads
}

server_down() {
	rpc.nfsd 0
	exportfs -ua
	pkill -x rpc.mountd
	pkill -x rpcbind
	umount "$EXPORT"
	umount /proc/fs/nfsd
}

make_tree() {
	local i

	mkdir -p "$TREE/a/b/c"
	for i in {1..24}; do
		head -c $((i * i * 500)) /dev/urandom >"$TREE/a/b/f$i"
	done
	head -c 3333333 /dev/urandom >"$TREE/a/b/c/big"
	ln -s b/f1 "$TREE/a/link"
	: >"$TREE/empty"
}

# version 4 sees the export as its root (fsid=0)
mount_v() {
	local path=$EXPORT

	[[ $1 != 4* ]] || path=/
	mount -t nfs -o "vers=$1,proto=rdma,port=20049$2" "$ULP_IP:$path" "$MNT"
}

tree_over() {
	local v=$1 opt=$2

	run_ok "v$v: mount" mount_v "$v" "$opt" || return
	expect "v$v: it goes over RDMA" \
		"$(grep -c "^$ULP_IP:.*proto=rdma" /proc/mounts)" 1
	run_ok "v$v: a tree is copied" cp -r "$TREE" "$MNT/t$v"
	run_ok "v$v: unmount" umount "$MNT"
	run_ok "v$v: the server has it" diff -r "$TREE" "$EXPORT/t$v"
	run_ok "v$v: mount again" mount_v "$v" "$opt" || return
	run_ok "v$v: the client reads it" diff -r "$TREE" "$MNT/t$v"
	run_ok "v$v: it is removed" rm -r "$MNT/t$v"
	run_ok "v$v: unmount again" umount "$MNT"
}

make_tree
run_ok "a server on the device" server_up || bail "no server"
tree_over 3 ,nolock,mountproto=tcp
tree_over 4.2 ''
server_down
run_ok "no queue pair is left" wait_for 30 ulp_idle
ulp_down
run_ok "the module unloads" wait_for 20 rmmod rpcrdma
