"""tf.train.Example, without TensorFlow: the few messages of Protocol Buffers that it consists of.

Example { Features features = 1; }  Features { map<string, Feature> feature = 1; }
Feature { oneof { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; } }, whose lists have
`repeated value = 1`. https://protobuf.dev/programming-guides/encoding
"""

import struct
from typing import Dict, Iterator, List, Mapping, NamedTuple, Sequence, Tuple, Union

from ..errors import TonyError

BYTES, FLOAT, INT64 = 1, 2, 3
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_MASK = (1 << 64) - 1


class Feature(NamedTuple):
    """The values of a feature. kind: BYTES, FLOAT or INT64; 0: an empty feature."""

    kind: int
    values: Sequence[Union[bytes, float, int]]


class BadExample(TonyError):
    """Bytes are no tf.train.Example."""


def _varint(value: int) -> bytes:
    value &= _MASK
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH) + _varint(len(data)) + data


def _encoded_list(feature: Feature) -> bytes:
    if feature.kind == BYTES:
        return b"".join(_field(1, bytes(value)) for value in feature.values)  # type: ignore[arg-type]
    if not feature.values:
        return b""
    if feature.kind == FLOAT:
        return _field(1, struct.pack(f"<{len(feature.values)}f", *feature.values))
    return _field(1, b"".join(_varint(int(value)) for value in feature.values))


def encode(features: Mapping[str, Feature]) -> bytes:
    """The message, its features in the order of their names."""
    entries = []
    for name in sorted(features):
        feature = features[name]
        value = _field(feature.kind, _encoded_list(feature)) if feature.kind else b""
        entries.append(_field(1, _field(1, name.encode()) + _field(2, value)))
    return _field(1, b"".join(entries))


def _read_varint(data: bytes, offset: int) -> Tuple[int, int]:
    value = shift = 0
    while True:
        if offset >= len(data) or shift > 63:
            raise BadExample("these bytes are no tf.train.Example: a number is cut off")
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK, offset
        shift += 7


def _fields(data: bytes) -> Iterator[Tuple[int, int, Union[int, bytes]]]:
    """(number, wire type, value) of each field."""
    offset = 0
    while offset < len(data):
        tag, offset = _read_varint(data, offset)
        wire = tag & 7
        if wire == _VARINT:
            value, offset = _read_varint(data, offset)
            yield tag >> 3, wire, value
            continue
        if wire == _LENGTH:
            length, offset = _read_varint(data, offset)
        elif wire in (_FIXED32, _FIXED64):
            length = 4 if wire == _FIXED32 else 8
        else:
            raise BadExample(f"these bytes are no tf.train.Example: wire type {wire} at byte {offset}")
        if offset + length > len(data):
            raise BadExample("these bytes are no tf.train.Example: a field is cut off")
        yield tag >> 3, wire, data[offset:offset + length]
        offset += length


def _messages(data: bytes, number: int) -> Iterator[bytes]:
    for found, _, value in _fields(data):
        if found == number and isinstance(value, bytes):
            yield value


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _decode_list(kind: int, data: bytes) -> Feature:
    values: List[Union[bytes, float, int]] = []
    for number, wire, value in _fields(data):
        if number != 1:
            continue
        if isinstance(value, int):
            values.append(_signed(value))
        elif kind == BYTES:
            values.append(value)
        elif kind == FLOAT:
            if len(value) % 4:
                raise BadExample("these bytes are no tf.train.Example: a list of floats is cut off")
            values += struct.unpack(f"<{len(value) // 4}f", value)
        elif wire == _LENGTH:
            offset = 0
            while offset < len(value):
                integer, offset = _read_varint(value, offset)
                values.append(_signed(integer))
    return Feature(kind, values)


def decode(data: bytes) -> Dict[str, Feature]:
    """The features of a message by their names. Raises BadExample."""
    features: Dict[str, Feature] = {}
    for message in _messages(data, 1):
        for entry in _messages(message, 1):
            names, values = list(_messages(entry, 1)), list(_messages(entry, 2))
            feature = Feature(0, [])
            for value in values:
                for kind, _, content in _fields(value):
                    if kind in (BYTES, FLOAT, INT64) and isinstance(content, bytes):
                        feature = _decode_list(kind, content)
            features[names[-1].decode() if names else ""] = feature
    return features
