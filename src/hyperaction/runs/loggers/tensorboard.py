"""TensorBoard events.

A file of events is a row of records: a length, its checksum, a message of protocol buffers and the
checksum of that. Written here, as the packages that write it load PyTorch where there is one, which
takes seconds at the start of every run.
"""

from __future__ import annotations

import math
import socket
import struct
import time
from pathlib import Path

VERSION = "brain.Event:2"
"""What the first event of a file says."""

START = 1
"""The status of a session that makes TensorBoard forget later events of earlier files."""


class TensorBoard:
    """TensorBoard events, in the run's directory."""

    def __init__(self, out: Path, step: int) -> None:
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{step}"
        self._file = (out / name).open("ab")
        self._write(_number(1, time.time()) + _bytes(3, VERSION.encode()))
        if step:
            # Events after the step are of a run that did not get as far as its next checkpoint.
            self._write(_integer(2, step + 1) + _bytes(7, _integer(1, START)))

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Adds a scalar for each."""
        now = time.time()
        for name, value in metrics.items():
            scalar = _bytes(1, name.encode()) + _float(2, value)
            self._write(_number(1, now) + _integer(2, step) + _bytes(5, _bytes(1, scalar)))

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _write(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        self._file.write(length + _checksum(length) + event + _checksum(event))
        self._file.flush()


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


def _integer(field: int, value: int) -> bytes:
    return _key(field, 0) + _varint(value)


def _number(field: int, value: float) -> bytes:
    return _key(field, 1) + struct.pack("<d", value)


def _float(field: int, value: float) -> bytes:
    try:
        return _key(field, 5) + struct.pack("<f", value)
    except OverflowError:  # More than 32 bits can say.
        return _float(field, math.copysign(math.inf, value))


def _bytes(field: int, value: bytes) -> bytes:
    return _key(field, 2) + _varint(len(value)) + value


def _table() -> list[int]:
    """The checksums of single bytes, CRC-32C."""
    entries = []
    for entry in range(256):
        for _ in range(8):
            entry = entry >> 1 ^ (0x82F63B78 if entry & 1 else 0)
        entries.append(entry)
    return entries


TABLE = _table()


def _checksum(data: bytes) -> bytes:
    """A checksum as these files have it: rotated and shifted, as it is a part of what is summed."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
