#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Has tshark read the golden frames of WRITE_PERSIST with cairn.lua; KTAP."""
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
VECTORS = (HERE.parent.parent /
           "drivers/infiniband/sw/cairn/tests/golden/vectors.txt")
NAMES = {
    "RC_WRITE_PERSIST_FIRST": "RC WRITE_PERSIST First",
    "RC_WRITE_PERSIST_MIDDLE": "RC WRITE_PERSIST Middle",
    "RC_WRITE_PERSIST_LAST": "RC WRITE_PERSIST Last",
    "RC_WRITE_PERSIST_ONLY": "RC WRITE_PERSIST Only",
    "RC_WRITE_PERSIST_LAST_IMM": "RC WRITE_PERSIST Last with Immediate",
    "RC_WRITE_PERSIST_ONLY_IMM": "RC WRITE_PERSIST Only with Immediate",
    "RC_PERSIST_ACK": "RC PERSIST ACK",
}
# our field -> the vectors' key
NUMBERS = {
    "cairn.opcode": "opcode",
    "cairn.reth.va": "va",
    "cairn.reth.r_key": "rkey",
    "cairn.reth.dmalen": "dmalen",
    "cairn.immdt": "imm",
    "cairn.aeth.syndrome": "syndrome",
    "cairn.aeth.msn": "msn",
}
MAD = ["cairn.peer.answer", "cairn.peer.known", "cairn.peer.kinds",
       "cairn.peer.atomic_unit", "cairn.peer.max_outstanding",
       "cairn.peer.abilities", "cairn.peer.max_msg"]
OTHER = [*MAD, "cairn.data", "cairn.durable", "cairn.message_in",
         "cairn.persisted_in", "cairn.persist_time", "_ws.col.Info",
         "_ws.malformed", "_ws.lua.error"]
# These guess at payloads and would find themselves in random bytes.
GUESSERS = ["iser", "nvme-rdma", "rpcordma", "smb_direct", "smc"]
FIELDS = [*NUMBERS, *OTHER]


def tshark(frames):
    """One dictionary of fields for each frame; they are 0.25 s apart."""
    with tempfile.TemporaryDirectory() as tmp:
        pcap = pathlib.Path(tmp) / "frames.pcap"
        with open(pcap, "wb") as f:
            f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
            for n, frame in enumerate(frames):
                f.write(struct.pack("<IIII", n // 4, n % 4 * 250000,
                                    len(frame), len(frame)) + frame)
        cmd = ["tshark", "-n", "-2", "-X", f"lua_script:{HERE}/cairn.lua",
               "-r", str(pcap), "-T", "fields", "-E", "separator=|"]
        for name in GUESSERS:
            cmd += ["--disable-protocol", name]
        for field in FIELDS:
            cmd += ["-e", field]
        run = subprocess.run(cmd, capture_output=True, text=True, check=False)
    for line in run.stderr.splitlines():
        if "root" not in line:
            print("#", line)
    return [dict(zip(FIELDS, line.split("|")))
            for line in run.stdout.splitlines()]


def vectors():
    for line in VECTORS.read_text().splitlines():
        if not line.startswith("#"):
            yield dict(word.split("=", 1) for word in line.split(" "))


def golden_fields(v, got):
    """Complaints about one frame."""
    name = NAMES.get(v["name"])
    if not name:
        if any(got[f] for f in FIELDS if f.startswith("cairn.")):
            yield "is none of ours"
        return
    for field, key in NUMBERS.items():
        want = int(v[key], 16) if key in v else None
        shown = int(got[field], 0) if got[field] else None
        if shown != want:
            yield f"{field} is {shown}, not {want}"
    if got["cairn.data"] != v.get("data", ""):
        yield f"payload is {got['cairn.data']}"
    durable = ""
    if "syndrome" in v:
        durable = "1" if int(v["syndrome"], 16) < 0x20 else "0"
    if {"True": "1", "False": "0"}.get(got["cairn.durable"],
                                       got["cairn.durable"]) != durable:
        yield f"durable is {got['cairn.durable']}"
    if not got["_ws.col.Info"].startswith(name + " "):
        yield f"Info is {got['_ws.col.Info']}"
    if got["_ws.malformed"] or got["_ws.lua.error"]:
        yield "malformed"


def golden():
    known = list(vectors())
    shown = tshark([bytes.fromhex(v["frame"]) for v in known])
    good = len(shown) == len(known)
    good &= set(NAMES) <= {v["name"] for v in known}
    for n, (v, got) in enumerate(zip(known, shown)):
        for what in golden_fields(v, got):
            print(f"# vector {n} ({v['name']}): {what}")
            good = False
    return good


def packet(to_target, qpn, opcode, psn, rest=b""):
    bth = struct.pack(">BBHII", opcode, 0x40, 0xffff, qpn, psn)
    udp = bth + rest + bytes(4)
    ends = [bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])]
    src, dst = ends if to_target else reversed(ends)
    return (bytes(12) + b"\x08\x00" +
            struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(udp), 0, 0x4000, 64,
                        17, 0) + src + dst +
            struct.pack(">HHHH", 50000, 4791, 8 + len(udp), 0) + udp)


def pairs():
    """An acknowledgement and the messages it covers name each other."""
    reth = struct.pack(">QII", 0x1000, 7, 4)
    aeth = bytes([0x1f, 0, 0, 2])
    frames = [
        packet(True, 5, 0xc0, 0xfffffe, reth + bytes(256)),
        packet(True, 5, 0xc2, 0xffffff, bytes(4)),
        packet(True, 5, 0xc3, 0, reth + bytes(4)),
        packet(True, 6, 0xc3, 0xfffff0, reth + bytes(4)),  # another QP's
        packet(False, 9, 0x11, 0, aeth),        # received
        packet(True, 5, 0xc3, 0, reth + bytes(4)),  # sent again
        packet(False, 9, 0xc8, 0, aeth),        # durable: 2 and 3
        packet(True, 5, 0xc3, 1, reth + bytes(4)),
        packet(True, 5, 0xc3, 2, b"\0" * 3),    # cut off
    ]
    want = [("", "", ""), ("7", "", "1.25"), ("7", "", "1"), ("", "", ""),
            ("", "", ""), ("", "", ""), ("", "3", "1"), ("", "", ""),
            ("", "", "")]
    good = True
    shown = tshark(frames)
    for n, (got, expected) in enumerate(zip(shown, want)):
        have = (got["cairn.persisted_in"], got["cairn.message_in"],
                got["cairn.persist_time"].rstrip("0").rstrip("."))
        if have != expected:
            print(f"# frame {n + 1}: {have}, not {expected}")
            good = False
    return good and len(shown) == len(frames)


def mad(method=1, status=0, data=b"", group=0x3c, oui=b"\xc6\x1a\x7d"):
    """A management datagram to QP 1."""
    head = struct.pack(">BBBBHHQHHI", 1, group, 1, method, status, 0, 77, 0x10,
                       0, 0)
    body = (head + bytes(13) + oui + data).ljust(256, b"\0")
    return packet(True, 1, 0x64, 0, struct.pack(">II", 0x80010000, 1) + body)


def questions():
    """The question to a peer, an answer, and the answer of a plain peer."""
    answer = struct.pack(">IIIIQ", 7, 8, 64, 1, 1 << 31)
    shown = tshark([mad(), mad(0x81, 0, answer), mad(0x81, 0x0c),
                    mad(group=0x3d), mad(oui=b"\0\0\1")])
    none = [""] * 7
    want = [["0"] + none[1:], ["1", "1", "7", "8", "64", "1",
             str(1 << 31)],
            ["1", "0"] + none[2:], none, none]
    flags = {"True": "1", "False": "0"}
    good = len(shown) == len(want)
    for n, (got, expected) in enumerate(zip(shown, want)):
        have = [flags.get(got[f], got[f]) for f in MAD]
        for at in 2, 5:     # hexadecimal
            have[at] = have[at] and str(int(have[at], 0))
        if have != expected or got["_ws.lua.error"]:
            print(f"# frame {n + 1}: {have}, not {expected}")
            good = False
    return good


def main():
    tests = [golden, pairs, questions]
    print("KTAP version 1")
    failed = 0
    for n, test in enumerate(tests, 1):
        good = test()
        failed += not good
        print(f"{'ok' if good else 'not ok'} {n} {test.__name__}")
    print(f"1..{len(tests)}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
