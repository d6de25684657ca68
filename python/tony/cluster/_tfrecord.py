"""TFRecord files, without TensorFlow: each record with its length and two masked CRC-32C.

Format: https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details
"""

import struct
from typing import BinaryIO, Iterator, List

from ..errors import TonyError
from . import _rows

_LENGTH = struct.Struct("<Q")
_CRC = struct.Struct("<I")
_POLYNOMIAL = 0x82F63B78
_table: List[int] = []


class BadRecord(TonyError):
    """A file is no TFRecord file, or is damaged."""


def crc32c(data: bytes) -> int:
    """The CRC-32C (Castagnoli) of bytes."""
    native = _rows._native  # pylint: disable=protected-access
    if native is not None:
        found: int = native.crc32c(bytes(data))
        return found
    if not _table:
        for byte in range(256):
            crc = byte
            for _ in range(8):
                crc = (crc >> 1) ^ (_POLYNOMIAL if crc & 1 else 0)
            _table.append(crc)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """As TFRecord files have it: rotated, so that the CRC of data with CRCs in them keeps its strength."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def write_record(file: BinaryIO, data: bytes) -> None:
    """Appends a record."""
    length = _LENGTH.pack(len(data))
    file.write(b"".join([length, _CRC.pack(masked_crc32c(length)), data, _CRC.pack(masked_crc32c(data))]))


def read_records(data: bytes, name: str) -> Iterator[bytes]:
    """The records of a file's content. `name` is the file's, for messages. Raises BadRecord."""
    offset = 0
    while offset < len(data):
        header = data[offset:offset + 12]
        if len(header) < 12:
            raise BadRecord(f"{name} is cut off at byte {offset}, within a record's length")
        (length,), (crc,) = _LENGTH.unpack_from(header), _CRC.unpack_from(header, 8)
        if crc != masked_crc32c(header[:8]):
            raise BadRecord(f"{name} is no TFRecord file, or damaged: the length at byte {offset} has a wrong checksum")
        record = data[offset + 12:offset + 12 + length]
        end = offset + 12 + length
        if end + 4 > len(data):
            raise BadRecord(f"{name} is cut off within the record at byte {offset}")
        if _CRC.unpack_from(data, end)[0] != masked_crc32c(record):
            raise BadRecord(f"{name} is damaged: the record at byte {offset} has a wrong checksum")
        yield record
        offset = end + 4
