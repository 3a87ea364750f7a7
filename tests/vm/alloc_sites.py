#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Has each allocation of the driver failed?

    alloc_sites.py MODULE LOG

LOG is a kernel log with the stack traces of injected faults, MODULE was compiled with
line information. The functions of the sources that allocate memory are compared with
those in the traces. Prints KTAP points, and for each function how often.
"""
import collections
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2] / 'drivers/infiniband/sw/cairn'
# engine/ and wire/ allocate nothing
PARTS = ('verbs', 'queue', 'mem', 'device', 'net', 'lane', 'persist', 'compat', '.')
ALLOCATES = re.compile(
    r'\b(kv?[mzc]alloc(_\w+)?|kmemdup|vmalloc_user|vzalloc|alloc_skb(_with_frags)?|skb_clone|'
    r'(__)?xa_(alloc|alloc_cyclic|insert|store|cmpxchg)|ida_alloc(_max)?|alloc_percpu(_gfp)?|'
    r'ib_umem_get|ib_alloc_device|ib_register_device|alloc_workqueue|kthread_create_on_node|'
    r'rdma_user_mmap_entry_insert|rdma_alloc_hw_stats_struct|nf_register_net_hooks|'
    r'register_pernet_subsys|dma_alloc_coherent)\s*\(')
# Sites that this test does not reach, and why.
EXCEPT = {
    'mr_alloc_fast': 'fast registration is for kernel consumers',
    'ah_publish': 'stores where ah_reserve() has reserved',
    'ah_modify': 'stores where ah_reserve() has reserved',
    'qp_publish': 'stores where qp_reserve_number() has reserved',
    'qp_retire': 'stores where qp_reserve_number() has reserved',
    'doorbell_publish': 'stores where doorbell_reserve() has reserved',
    'cairn_dmabuf_get': 'no call of this test takes a dma-buf',
    'mr_fill_dmabuf': 'no call of this test takes a dma-buf',
    'key_get_variants': 'by chance: for the first of 4096 keys, and they have no order',
    'ready_new_page': 'the first page of the first CPU needs no memory of the array',
    'answer_give': 'needs two devices in one namespace',
    'rx_deliver': 'needs two devices in one namespace',
    'cairn_exec_rx_part': 'needs a second CPU',
    'qp_counter_open': 'one counter takes no slab: it lies in what per-CPU memory has left',
    'cairn_peer_doubt': 'the peer knows WRITE_PERSIST',
    'comp_cntr_create': 'ib_core has completion counters since 7.3',
    'comp_cntr_attach': 'ib_core has completion counters since 7.3',
    'cairn_stream_init': 'UML has no instructions that store past the caches',
    'mrcache_create': 'needs 16384 regions',
    'mrcache_alloc_sets': 'needs 16384 regions',
}


def sources():
    """{function: 'FILE:LINE'} of those that allocate."""
    found = {}
    for part in PARTS:
        for path in sorted((TOP / part).glob('*.[ch]')):
            function = None
            text = path.read_text()
            module = re.search(r'#define UVERBS_MODULE_NAME (\w+)', text)
            for number, line in enumerate(text.splitlines(), 1):
                # the name may have a line of its own
                head = re.match(r'(?:[a-z].*?\b)?(\w+)\(', line)
                if head and not line.endswith(';'):
                    # a method of ioctl(): NAME_handler_METHOD
                    function = head[1]
                    method = re.search(r'\bUVERBS_HANDLER\((\w+)\)', line)
                    if method:
                        function = f'{module[1]}_handler_{method[1]}'
                if line[:1] == '}':
                    function = None
                if function and line[:1] in '\t ' and ALLOCATES.search(line):
                    found.setdefault(function, f'{path.relative_to(TOP)}:{number}')
    return found


def symbols(module):
    """{function: (section, offset)}"""
    found = {}
    for line in subprocess.run(['nm', '-f', 'sysv', module], check=True, text=True,
                               stdout=subprocess.PIPE).stdout.splitlines():
        words = [word.strip() for word in line.split('|')]
        if len(words) == 7 and 'text' in words[6]:
            found[words[0]] = words[6], int(words[1], 16)
    return found


def traces(log):
    """The innermost frame of ours in the trace of each fault: (function, offset)."""
    wanted = False
    for line in open(log, errors='replace'):
        if 'FAULT_INJECTION: forcing' in line:
            wanted = True
        frame = re.search(r'(\? )?(\w+(?:\.\w+)*)\+0x([0-9a-f]+)/0x[0-9a-f]+ \[cairn\]', line)
        if wanted and frame and not frame[1]:
            wanted = False
            yield frame[2], int(frame[3], 16)


def inlined(module, section, offsets):
    """{offset: the functions whose code lies there}"""
    out = subprocess.run(['addr2line', '-a', '-i', '-f', '-j', section, '-e', module],
                         input='\n'.join(f'{n:#x}' for n in sorted(offsets)), check=True,
                         text=True, stdout=subprocess.PIPE).stdout
    result, names = {}, []
    for line in out.splitlines():
        if line.startswith('0x'):
            names = result.setdefault(int(line, 16), [])
        elif not re.search(r':[\d?]+( |$)', line):
            names.append(line.split('.')[0])
    return result


def main(module, log):
    where = symbols(module)
    faults = collections.defaultdict(collections.Counter)
    for name, offset in traces(log):
        if name in where:
            section, begin = where[name]
            # a return address: the call lies before it
            faults[section][begin + offset - 1] += 1
    failed = collections.Counter()
    for section, counts in faults.items():
        functions = inlined(module, section, counts)
        for offset, count in counts.items():
            for name in functions[offset]:
                failed[name] += count
    allocating = sources()
    for name in sorted(allocating):
        if failed[name]:
            print(f'# {name}: {failed[name]}')
    missing = [f'{name} ({allocating[name]})' for name in sorted(allocating)
               if not failed[name] and name not in EXCEPT]
    stale = [name for name in EXCEPT if name not in allocating]
    for name in missing:
        print(f'# never failed: {name}')
    for name, why in EXCEPT.items():
        if not failed[name]:
            print(f'# not tried: {name}, {why}')
    print(f'# {sum(bool(failed[name]) for name in allocating)} of {len(allocating)} functions')
    print('not ' * bool(missing or stale) + 'ok 1 each allocation of the module has failed')
    return bool(missing or stale)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
