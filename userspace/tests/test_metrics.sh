#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# cairn_metrics with made-up devices; the reader is python3-prometheus-client's. The dashboard
# has only metrics that there are.
#
#   test_metrics.sh HELPER-DIR
set -u

source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "$(realpath "$1")/metrics.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
export CAIRN_METRICS_ROOT=$work/root
class=$work/root/sys/class/infiniband
counters=$work/root/usr/share/cairn/counters
# shellcheck source=userspace/tests/result.sh
. "${0%/*}/result.sh"

shown=("$work/err" "$work/out")

metrics() { "$source/tools/cairn_metrics" "$@" >"$work/out" 2>"$work/err"; }

# device NAME NETDEV STATE
device() {
	local dir=$class/$1/ports/1

	mkdir -p "$dir/hw_counters"
	echo "$2" >"$class/$1/parent"
	echo 1.0.0 >"$class/$1/fw_ver"
	echo "$3" >"$dir/state"
	while IFS=$'\t' read -r name _; do
		echo 7 >"$dir/hw_counters/$name"
	done <"$counters"
	echo 18446744073709551615 >"$dir/hw_counters/tx_bytes"
	echo 10 >"$dir/hw_counters/lifespan"
}

# has LINE: the line is printed
has() { grep -qxF -e "$1" "$work/out"; }

# Names, types and values as the reader of Prometheus has them; blocks stand together
reads() {
	/usr/bin/python3 - "$work/out" 2>"$work/err" <<-'END'
		import sys
		try:
		    from prometheus_client.parser import text_string_to_metric_families
		except ImportError:
		    sys.exit(77)
		text = open(sys.argv[1]).read()
		assert text.endswith("\n")
		families = list(text_string_to_metric_families(text))
		names = [family.name for family in families]
		assert len(names) == len(set(names)), names
		for family in families:
		    assert family.documentation and family.type in ("counter", "gauge"), family
		    devices = [sample.labels["device"] for sample in family.samples]
		    assert len(devices) == len(set(devices)) > 0, family
	END
}

metrics
result $? 'no RDMA at all'
has '# TYPE cairn_port_active gauge'
result $? '... has its metrics without a sample'

mkdir -p "$work/root/usr/share/cairn"
"$source/../scripts/check/counters.sh" --list >"$counters"
cd "$work" || exit 1
odd='odd\na"me'
for name in cairn0 "$odd"; do
	cp "$counters" "$name.counters"
done
device cairn0 eth0 '4: ACTIVE'
device "$odd" eth1 '1: DOWN'
mkdir -p "$class/mlx5_0/ports/1/hw_counters"
echo 1 >"$class/mlx5_0/ports/1/hw_counters/out_of_sequence"
metrics
result $? 'two devices, and one of another driver'
reads
case $? in
0) result 0 "prometheus' reader takes it" ;;
77) result_skip "prometheus' reader takes it" 'no python3-prometheus-client' ;;
*) result 1 "prometheus' reader takes it" ;;
esac
has 'cairn_port_active{device="cairn0"} 1' && has 'cairn_port_active{device="odd\\na\"me"} 0'
result $? 'states of ports'
has 'cairn_device_info{device="cairn0",netdev="eth0",version="1.0.0"} 1'
result $? 'netdev and version'
has 'cairn_tx_bytes_total{device="cairn0"} 18446744073709551615'
result $? 'a value of 64 bits'
has '# HELP cairn_tx_packets_total packets handed to the IP stack'
result $? 'meanings'
[ "$(grep -c '^cairn_.*_total{device="cairn0"' "$work/out")" = "$(wc -l <"$counters")" ]
result $? 'each counter once'
! grep -q 'mlx5\|lifespan' "$work/out"
result $? 'nothing else'
# as containers may name their devices and netdevs; the first two would have one name
for name in $'x\xff' $'x\xfe' $'x\e[2J'; do
	device "$name" $'eth2\xff' '4: ACTIVE'
done
metrics && has 'cairn_port_active{device="x?[2J"} 1' && has 'cairn_port_active{device="cairn0"} 1' &&
	[ "$(grep -c '^cairn_port_active{device="x?"}' "$work/out")" = 1 ] &&
	[ "$(grep -c '^cairn_tx_bytes_total{device="x?"}' "$work/out")" = 1 ] &&
	grep -q '^cairn_device_info{device="x?",netdev="eth2?",' "$work/out" &&
	! grep -q '[^ -~]' "$work/out"
result $? 'names that are no text'
reads
case $? in
0) result 0 '... and the reader takes them' ;;
77) result_skip '... and the reader takes them' 'no python3-prometheus-client' ;;
*) result 1 '... and the reader takes them' ;;
esac
rm -r "$class/x"*

mkdir "$work/files"
metrics -o "$work/files/cairn.prom" && [ ! -s "$work/out" ] && grep -q cairn0 "$work/files/cairn.prom"
result $? 'into a file'
[ "$(ls "$work/files")" = cairn.prom ] && [ "$(stat -c %a "$work/files/cairn.prom")" = 644 ]
result $? '... and no other'
# "exec" keeps the number of the process
echo mine >"$work/victim"
sh -c 'ln -s "$1/victim" "$1/files/cairn.prom.$$" && exec "$2" -o "$1/files/cairn.prom"' sh \
	"$work" "$source/tools/cairn_metrics" >"$work/out" 2>"$work/err" &&
	[ "$(<"$work/victim")" = mine ] && [ ! -L "$work/files/cairn.prom" ]
result $? 'a name that another program could guess is not used'
# the owner of the directory replaces each file as soon as it has a name
mkdir "$work/bin"
cat >"$work/bin/mktemp" <<-END
	#!/bin/sh
	new=\$($(command -v mktemp) "\$@") && ln -sf "$work/victim" "\$new" && echo "\$new"
END
chmod +x "$work/bin/mktemp"
chmod 600 "$work/victim"
PATH=$work/bin:$PATH metrics -o "$work/files/cairn.prom"
[ $? = 1 ] && [ "$(<"$work/victim")" = mine ] && [ "$(stat -c %a "$work/victim")" = 600 ]
result $? 'a link in place of the new file is not followed'
mkdir "$work/other"
ln -sf "$work/other" "$work/files/link.prom"
metrics -o "$work/files/link.prom" && [ ! -L "$work/files/link.prom" ] && [ -z "$(ls "$work/other")" ]
result $? 'a link to a directory is replaced'
metrics -o "$work/files/cairn.txt"
[ $? = 2 ]
result $? 'a name that the collector does not read'
metrics -o "$work/nothing/cairn.prom"
[ $? = 1 ] && grep -q 'cannot write' "$work/err"
result $? 'a directory that is not there'
metrics extra
[ $? = 2 ]
result $? 'a wrong command'

/usr/bin/python3 - "$source/tools/cairn-dashboard.json" "$counters" >"$work/out" 2>"$work/err" <<'END'
import json, re, sys
text = open(sys.argv[1]).read()
known = {f'cairn_{line.split(chr(9))[0]}_total' for line in open(sys.argv[2])}
known |= {'cairn_port_active', 'cairn_device_info'}
panels = json.loads(text)['panels']
used = [name for panel in panels for target in panel.get('targets', [])
        for name in re.findall(r'\bcairn_\w+', target['expr'])]
assert used and not set(used) - known, set(used) - known
assert len({panel['id'] for panel in panels}) == len(panels)
END
result $? 'the dashboard'

result_end
