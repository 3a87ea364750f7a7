#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Golden RoCEv2 frames, made without any of cairn's code.

Written from the layouts in the InfiniBand Architecture Specification (vol. 1
chapter 9, 7.8.1, Annexes A14, A17 and A19) and the IP and UDP RFCs; the CRC is zlib's. The
values are pseudo-random but always the same.

    generate.py > vectors.txt      the vectors
    generate.py --check            compare with vectors.txt beside this script
    generate.py --corpus DIR       each packet, from its BTH on, as a file in DIR

One line for each frame: key=value words that describe it, then frame=<hex>.
Numbers are hexadecimal; a key that does not apply is absent; data is the
payload, without pad.
"""
import hashlib
import pathlib
import struct
import sys
import zlib

UDP_PORT = 4791
PMTU = 256

# opcode -> (name, extension headers in wire order, payload lengths)
FULL = [PMTU]
TAIL = [1, 2, 63, 64]
ANY = [0, 1, 2, 63, PMTU]
NONE = [0]
SENDS = {
    0x00: ("SEND_FIRST", "", FULL),
    0x01: ("SEND_MIDDLE", "", FULL),
    0x02: ("SEND_LAST", "", TAIL),
    0x03: ("SEND_LAST_IMM", "I", TAIL),
    0x04: ("SEND_ONLY", "", ANY),
    0x05: ("SEND_ONLY_IMM", "I", ANY),
    0x06: ("WRITE_FIRST", "R", FULL),
    0x07: ("WRITE_MIDDLE", "", FULL),
    0x08: ("WRITE_LAST", "", TAIL),
    0x09: ("WRITE_LAST_IMM", "I", TAIL),
    0x0a: ("WRITE_ONLY", "R", ANY),
    0x0b: ("WRITE_ONLY_IMM", "RI", ANY),
}
RESPONDING = {
    0x0c: ("READ_REQUEST", "R", NONE),
    0x0d: ("READ_RESP_FIRST", "A", FULL),
    0x0e: ("READ_RESP_MIDDLE", "", FULL),
    0x0f: ("READ_RESP_LAST", "A", TAIL),
    0x10: ("READ_RESP_ONLY", "A", ANY),
    0x11: ("ACK", "A", NONE),
    0x12: ("ATOMIC_ACK", "AK", NONE),
    0x13: ("CMP_SWAP", "T", NONE),
    0x14: ("FETCH_ADD", "T", NONE),
    0x16: ("SEND_LAST_INV", "X", TAIL),
    0x17: ("SEND_ONLY_INV", "X", ANY),
    0x1c: ("FLUSH", "FR", NONE),
    0x1d: ("ATOMIC_WRITE", "R", [8]),
}
# cairn's own, in the manufacturer-specific range (Documentation/wire.rst)
PERSIST = {
    0xc0: ("WRITE_PERSIST_FIRST", "R", FULL),
    0xc1: ("WRITE_PERSIST_MIDDLE", "", FULL),
    0xc2: ("WRITE_PERSIST_LAST", "", TAIL),
    0xc3: ("WRITE_PERSIST_ONLY", "R", ANY),
    0xc4: ("WRITE_PERSIST_LAST_IMM", "I", TAIL),
    0xc5: ("WRITE_PERSIST_ONLY_IMM", "RI", ANY),
    0xc8: ("PERSIST_ACK", "A", NONE),
}


def opcodes():
    table = {}
    for code, (name, ext, lens) in {**SENDS, **RESPONDING, **PERSIST}.items():
        table[code] = ("RC_" + name, ext, lens)
    # a request of XRC names a shared receive queue; a response does not
    for code, (name, ext, lens) in {**SENDS, **RESPONDING}.items():
        answer = "RESP" in name or "ACK" in name
        table[0xa0 | code] = ("XRC_" + name, ext if answer else "Q" + ext, lens)
    for code, (name, ext, lens) in SENDS.items():
        table[0x20 | code] = ("UC_" + name, ext, lens)
    for code in (0x04, 0x05):
        name, ext, lens = SENDS[code]
        table[0x60 | code] = ("UD_" + name, "D" + ext, lens)
    table[0x81] = ("CNP", "", [16])
    return table


class Numbers:
    """A reproducible stream of numbers: SHA-256 in counter mode."""

    def __init__(self, seed):
        self.seed = seed
        self.count = 0

    def bytes(self, n):
        out = b""
        while len(out) < n:
            block = f"{self.seed}/{self.count}".encode()
            out += hashlib.sha256(block).digest()
            self.count += 1
        return out[:n]

    def bits(self, n):
        return int.from_bytes(self.bytes((n + 7) // 8), "big") % (1 << n)


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


# Extension headers: the fields drawn for them, and their bytes.

def deth(f, rnd):
    f["qkey"] = rnd.bits(32)
    f["sqpn"] = rnd.bits(24)
    return struct.pack(">II", f["qkey"], f["sqpn"])


def xrceth(f, rnd):
    f["srqn"] = rnd.bits(24)
    return struct.pack(">I", f["srqn"])


def feth(f, rnd):
    f["plt"] = 1 + rnd.bits(8) % 3
    f["sel"] = rnd.bits(1)
    return struct.pack(">I", f["sel"] << 4 | f["plt"])


def reth(f, rnd):
    f["va"] = rnd.bits(64)
    f["rkey"] = rnd.bits(32)
    # ONLY: the length is the payload's; FIRST and READ: of the message
    whole = "ONLY" in f["name"] or "ATOMIC" in f["name"]
    f["dmalen"] = f["len"] if whole else PMTU + 1 + rnd.bits(20)
    return struct.pack(">QII", f["va"], f["rkey"], f["dmalen"])


def atomiceth(f, rnd):
    f["va"] = rnd.bits(61) << 3
    f["rkey"] = rnd.bits(32)
    f["swapadd"] = rnd.bits(64)
    f["compare"] = rnd.bits(64)
    return struct.pack(">QIQQ", f["va"], f["rkey"], f["swapadd"], f["compare"])


ACKS = ("RC_ACK", "RC_PERSIST_ACK", "XRC_ACK")
SYNDROMES = [0x00, 0x1f, 0x0a, 0x20, 0x2e, 0x3f, 0x60, 0x61, 0x62, 0x63, 0x64]


def aeth(f, rnd):
    # a syndrome that is not an ACK belongs in an ACKNOWLEDGE
    if f["name"] in ACKS:
        f["syndrome"] = SYNDROMES[f["variant"] % len(SYNDROMES)]
    else:
        f["syndrome"] = rnd.bits(5)
    f["msn"] = rnd.bits(24)
    return struct.pack(">I", f["syndrome"] << 24 | f["msn"])


def atomicacketh(f, rnd):
    f["orig"] = rnd.bits(64)
    return struct.pack(">Q", f["orig"])


def immdt(f, rnd):
    f["imm"] = rnd.bits(32)
    return struct.pack(">I", f["imm"])


def ieth(f, rnd):
    f["rkey"] = rnd.bits(32)
    return struct.pack(">I", f["rkey"])


EXTENSIONS = {"D": deth, "Q": xrceth, "F": feth, "R": reth, "T": atomiceth, "A": aeth,
              "K": atomicacketh, "I": immdt, "X": ieth}


def bth(f, rnd):
    cnp = f["name"] == "CNP"
    f["se"] = 0 if cnp else rnd.bits(1)
    f["ackreq"] = 0 if cnp else rnd.bits(1)
    f["becn"] = 1 if cnp else 0
    f["pkey"] = 0xffff if f["variant"] % 2 == 0 else rnd.bits(16)
    # queue pairs 0 and 1 carry management datagrams
    f["qpn"] = 2 + rnd.bits(24) % (0xffffff - 2)
    f["psn"] = 0 if cnp else rnd.bits(24)
    f["pad"] = -f["len"] % 4
    migreq = not cnp
    flags = f["se"] << 7 | migreq << 6 | f["pad"] << 4
    return struct.pack(">BBHII", f["opcode"], flags, f["pkey"],
                       f["becn"] << 30 | f["qpn"], f["ackreq"] << 31 | f["psn"])


def transport(f, ext, rnd):
    """From the BTH to the last pad byte."""
    head = bth(f, rnd)
    for letter in ext:
        head += EXTENSIONS[letter](f, rnd)
    data = bytes(16) if f["name"] == "CNP" else rnd.bytes(f["len"])
    if data:
        f["data"] = data
    return head + data + bytes(f["pad"])


def udp_header(f, rnd, length):
    f["sport"] = 0xc000 | rnd.bits(14)
    return struct.pack(">HHHH", f["sport"], UDP_PORT, length, 0)


def fill_udp_checksum(f, udp, pseudo, rest):
    """IPv4: every other frame has 0, no checksum; IPv6 does not allow it."""
    f["udpsum"] = 0
    if f["variant"] % 2 or f["family"] == 6:
        f["udpsum"] = checksum(pseudo + udp + rest) or 0xffff
    return udp[:6] + struct.pack(">H", f["udpsum"])


def crc_of(ip, udp, rest):
    """The ICRC of a packet whose variant fields are already ones."""
    image = b"\xff" * 8 + ip + udp[:6] + b"\xff\xff"
    image += rest[:4] + b"\xff" + rest[5:]
    return struct.pack("<I", zlib.crc32(image))


def ipv4(f, ext, rnd):
    rest = transport(f, ext, rnd)
    length = 8 + len(rest) + 4
    f["tos"], f["ttl"], f["id"] = rnd.bits(8), 64 + rnd.bits(7), rnd.bits(16)
    f["src"], f["dst"] = b"\x0a" + rnd.bytes(3), b"\x0a" + rnd.bytes(3)
    udp = udp_header(f, rnd, length)

    def header(tos, ttl, check):
        return struct.pack(">BBHHHBBH4s4s", 0x45, tos, 20 + length, f["id"],
                           0x4000, ttl, 17, check, f["src"], f["dst"])

    rest += crc_of(header(0xff, 0xff, 0xffff), udp, rest)
    ip = header(f["tos"], f["ttl"], checksum(header(f["tos"], f["ttl"], 0)))
    pseudo = f["src"] + f["dst"] + struct.pack(">BBH", 0, 17, length)
    return 0x0800, ip + fill_udp_checksum(f, udp, pseudo, rest) + rest


def ipv6(f, ext, rnd):
    rest = transport(f, ext, rnd)
    length = 8 + len(rest) + 4
    f["tos"], f["ttl"], f["flow"] = rnd.bits(8), 64 + rnd.bits(7), rnd.bits(20)
    f["src"] = b"\xfd" + rnd.bytes(15)
    f["dst"] = b"\xfd" + rnd.bytes(15)
    udp = udp_header(f, rnd, length)

    def header(tos, flow, ttl):
        return struct.pack(">IHBB16s16s", 6 << 28 | tos << 20 | flow, length,
                           17, ttl, f["src"], f["dst"])

    rest += crc_of(header(0xff, 0xfffff, 0xff), udp, rest)
    pseudo = f["src"] + f["dst"] + struct.pack(">II", length, 17)
    ip = header(f["tos"], f["flow"], f["ttl"])
    return 0x86dd, ip + fill_udp_checksum(f, udp, pseudo, rest) + rest


def vector(family, code, name, ext, length, variant):
    rnd = Numbers(f"{family}/{code}/{variant}")
    f = {"name": name, "family": family, "opcode": code, "len": length,
         "variant": variant}
    ethertype, packet = (ipv4 if family == 4 else ipv6)(f, ext, rnd)
    del f["variant"]
    f["icrc"] = packet[-4:]
    f["dmac"], f["smac"] = b"\x02" + rnd.bytes(5), b"\x02" + rnd.bytes(5)
    f["frame"] = f["dmac"] + f["smac"] + struct.pack(">H", ethertype) + packet
    return f


def vectors():
    """All frames: a dictionary for each, in a fixed order."""
    for family in (4, 6):
        for code, (name, ext, lens) in sorted(opcodes().items()):
            if name in ACKS:
                lens = lens * len(SYNDROMES)
            for variant, length in enumerate(lens):
                yield vector(family, code, name, ext, length, variant)


def word(key, value):
    if isinstance(value, bytes):
        value = value.hex()
    elif isinstance(value, int):
        value = f"{value:x}"
    return f"{key}={value}"


def text():
    lines = ["# Made by generate.py; see there."]
    for f in vectors():
        lines.append(" ".join(word(k, v) for k, v in f.items()))
    return "\n".join(lines) + "\n"


def check():
    kept = pathlib.Path(__file__).with_name("vectors.txt").read_text()
    good = kept == text()
    print("KTAP version 1\n1..1")
    print(f"{'ok' if good else 'not ok'} 1 vectors_are_the_generators")
    return not good


def corpus(directory):
    for n, f in enumerate(vectors()):
        start = 14 + (20 if f["family"] == 4 else 40) + 8
        path = directory / f"{n:03}-{f['name']}"
        path.write_bytes(f["frame"][start:])


def main(args):
    if args == ["--check"]:
        return check()
    if len(args) == 2 and args[0] == "--corpus":
        return corpus(pathlib.Path(args[1]))
    if args:
        return __doc__
    sys.stdout.write(text())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
