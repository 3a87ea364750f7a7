#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Has Wireshark's dissector read the golden frames, field by field; KTAP.

tshark shows the ICRC but does not verify it, so the value it shows is compared
with the one that generate.py computed.
"""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

VECTORS = pathlib.Path(__file__).with_name("vectors.txt")

# These guess at payloads and would find themselves in random bytes.
GUESSERS = ["fcoib", "infiniband.eoib", "infiniband_sdp", "iser", "lnet",
            "nvme-rdma", "rpcordma", "smb_direct", "smc"]

# tshark's field -> our key
BTH = {
    "infiniband.bth.opcode": "opcode",
    "infiniband.bth.se": "se",
    "infiniband.bth.padcnt": "pad",
    "infiniband.bth.p_key": "pkey",
    "infiniband.bth.destqp": "qpn",
    "infiniband.bth.a": "ackreq",
    "infiniband.bth.psn": "psn",
}
EXTENSIONS = {
    "infiniband.deth.q_key": "qkey",
    "infiniband.deth.srcqp": "sqpn",
    "infiniband.reth.va": "va",
    "infiniband.reth.r_key": "rkey",
    "infiniband.reth.dmalen": "dmalen",
    "infiniband.atomiceth.swapdt": "swapadd",
    "infiniband.atomiceth.cmpdt": "compare",
    "infiniband.aeth.syndrome": "syndrome",
    "infiniband.aeth.msn": "msn",
    "infiniband.atomicacketh.origremdt": "orig",
}
# shown as bytes
RAW = {
    "infiniband.immdt": "imm",
    "infiniband.ieth": "rkey",
}
OTHER = ["infiniband.bth.tver", "infiniband.bth.m", "data.data",
         "infiniband.invariant.crc", "infiniband.vendor", "ip.checksum.status",
         "udp.checksum.status", "_ws.malformed", "_ws.expert.severity",
         "frame.protocols"]
FIELDS = [*BTH, *EXTENSIONS, *RAW, *OTHER]


def read_vectors():
    for line in VECTORS.read_text().splitlines():
        if not line.startswith("#"):
            yield dict(word.split("=", 1) for word in line.split(" "))


def write_pcap(path, vectors):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for n, v in enumerate(vectors):
            frame = bytes.fromhex(v["frame"])
            f.write(struct.pack("<IIII", n, 0, len(frame), len(frame)) + frame)


def dissect(vectors):
    with tempfile.TemporaryDirectory() as tmp:
        pcap = os.path.join(tmp, "golden.pcap")
        write_pcap(pcap, vectors)
        cmd = ["tshark", "-n", "-r", pcap, "-T", "fields", "-E", "separator=|",
               "-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE",
               "--disable-heuristic", "eth_over_ib"]
        for name in GUESSERS:
            cmd += ["--disable-protocol", name]
        for field in FIELDS:
            cmd += ["-e", field]
        run = subprocess.run(cmd, capture_output=True, text=True, check=False)
    if run.returncode or not run.stdout:
        print(*("# " + line for line in run.stderr.splitlines()), sep="\n")
    return [dict(zip(FIELDS, line.split("|")))
            for line in run.stdout.splitlines()]


def complain(n, v, what):
    print(f"# vector {n} ({v['name']}, IPv{v['family']}): {what}")
    return False


def same(n, v, shown, field, key):
    got = shown[field]
    if not got:
        return complain(n, v, f"{field} is absent")
    want = int(v[key], 16)
    if int(got, 0) != want:
        return complain(n, v, f"{field} is {got}, not {want:#x}")
    return True


def is_raw(v):
    """Wireshark 4.0 knows only BTH and ICRC of the manufacturer's opcodes, of XRC, and
    of FLUSH and ATOMIC WRITE."""
    opcode = int(v["opcode"], 16)
    return opcode >= 0xa0 or opcode in (0x1c, 0x1d)


def raw_extensions(v):
    """The headers that Wireshark shows as a part of the payload, as hex."""
    if not is_raw(v):
        return ""
    widths = {"va": 16, "rkey": 8, "dmalen": 8, "swapadd": 16, "compare": 16,
              "syndrome": 2, "msn": 6, "orig": 16, "imm": 8}
    first = v["srqn"].zfill(8) if "srqn" in v else ""
    if "plt" in v:
        first += "000000" + v["sel"] + v["plt"]
    return first + "".join(v[key].zfill(w) for key, w in widths.items()
                          if key in v)


def applies(v, field, key):
    """An rkey stands in one header: IETH when the opcode invalidates."""
    if is_raw(v):
        return False
    invalidates = v["name"].endswith("_INV")
    return key in v and (key != "rkey" or
                         invalidates == (field == "infiniband.ieth"))


def every_frame_is_rocev2(n, v, shown):
    ip = "ip" if v["family"] == "4" else "ipv6"
    want = f"eth:ethertype:{ip}:udp:infiniband"
    got = shown["frame.protocols"].removesuffix(":data")
    return got == want or complain(n, v, f"{got}, not {want}")


def nothing_malformed(n, v, shown):
    good = not shown["_ws.malformed"] and not shown["_ws.expert.severity"]
    return good or complain(n, v, "malformed, or the dissector has a remark")


# tshark's words for a checksum
GOOD, NOT_PRESENT = "1", "3"


def checksums_good(n, v, shown):
    ip = GOOD if v["family"] == "4" else ""
    udp = GOOD if v["udpsum"] != "0" else NOT_PRESENT
    got = (shown["ip.checksum.status"], shown["udp.checksum.status"])
    return got == (ip, udp) or complain(n, v, f"checksums are {got}")


def bth_fields(n, v, shown):
    good = all([same(n, v, shown, f, k) for f, k in BTH.items()])
    if shown["infiniband.bth.tver"] != "0":
        good = complain(n, v, "TVer is not 0")
    if int(shown["infiniband.bth.m"]) != (v["name"] != "CNP"):
        good = complain(n, v, "MigReq is wrong")
    return good


def extension_fields(n, v, shown):
    good = True
    for field, key in EXTENSIONS.items():
        if applies(v, field, key):
            good &= same(n, v, shown, field, key)
        elif shown[field]:
            good = complain(n, v, f"{field} is there")
    return good


def immediates_and_keys(n, v, shown):
    good = True
    for field, key in RAW.items():
        # a header that is its only field is shown twice
        got = {int(x, 16) for x in shown[field].split(",") if x}
        want = {int(v[key], 16)} if applies(v, field, key) else set()
        if got != want:
            good = complain(n, v, f"{field} is {got}, not {want}")
    return good


def shown_tail(shown):
    """What follows the headers: payload with pad, and the ICRC."""
    # a CNP, like our opcodes, is not known to Wireshark 4.0: one piece
    if shown["infiniband.vendor"]:
        piece = shown["infiniband.vendor"].split(",")[-1]
        return piece[:-8], piece[-8:]
    return shown["data.data"], shown["infiniband.invariant.crc"][2:]


def payload(n, v, shown):
    got = shown_tail(shown)[0]
    want = raw_extensions(v) + v.get("data", "") + "00" * int(v["pad"])
    return got == want or complain(n, v, f"payload {got}, not {want}")


def icrc(n, v, shown):
    got = shown_tail(shown)[1]
    return got == v["icrc"] or complain(n, v, f"ICRC {got}, not {v['icrc']}")


TESTS = [every_frame_is_rocev2, nothing_malformed, checksums_good, bth_fields,
         extension_fields, immediates_and_keys, payload, icrc]


def main():
    print("KTAP version 1")
    if not shutil.which("tshark"):
        print("1..1\nok 1 tshark # SKIP tshark is not installed")
        return 0
    vectors = list(read_vectors())
    shown = dissect(vectors)
    print(f"1..{len(TESTS)}")
    if len(shown) != len(vectors):
        print(f"# {len(vectors)} vectors, tshark shows {len(shown)} frames")
        return 1
    bad = False
    for i, test in enumerate(TESTS, 1):
        good = all([test(n, v, s)
                    for n, (v, s) in enumerate(zip(vectors, shown), 1)])
        print(f"{'ok' if good else 'not ok'} {i} {test.__name__}")
        bad |= not good
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
