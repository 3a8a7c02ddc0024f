"""What the dynamic loader reads: its cache, and libraries with the names of their symbols."""

import struct


def ld_cache(paths: tuple[str, ...]) -> bytes:
    """The format of glibc since 2.32."""
    head = 48 + 24 * len(paths)
    strings, entries = b"", b""
    for path in paths:
        name = path.rpartition("/")[2]
        key, value = head + len(strings), head + len(strings) + len(name) + 1
        strings += name.encode() + b"\0" + path.encode() + b"\0"
        entries += struct.pack("<iIIIQ", 0x0303, key, value, 0, 0)
    counts = struct.pack("<II", len(paths), len(strings))
    return b"glibc-ld.so.cache1.1" + counts + struct.pack("<BxxxIIII", 2, 0, 0, 0, 0) + entries + strings


def symbols(path: str) -> bytes:
    if "libnccl-net" in path:
        return b"\0ncclNetPlugin_v10\0ncclNetPlugin_v9\0ncclCollNetPlugin_v9\0"
    return b"\0ibv_open_device\0ibv_reg_mr_iova2\0" if "libibverbs" in path else b"\0gdr_open\0"


def elf(sections: dict[str, bytes]) -> bytes:
    """A 64-bit ELF file with nothing but these sections."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (*sections, ".shstrtab"))
    body, table = bytearray(64), [bytes(64)]
    for name, data in (*sections.items(), (".shstrtab", names)):
        at = names.index(name.encode() + b"\0")
        table.append(struct.pack("<IIQQQQIIQQ", at, 3, 0, 0, len(body), len(data), 0, 0, 1, 0))
        body += data
    head = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, len(body), 0, 64, 0, 0, 64, len(table), len(table) - 1)
    )
    body[:64] = head
    return bytes(body) + b"".join(table)
