"""Reads TensorBoard's event files. A file is a sequence of records, and the data of a record is an Event protocol buffer.

A record consists of the data's length (8 bytes), a masked CRC-32C of the length, the data, and a masked CRC-32C of the data.
The last record might be incomplete, because a writer is still writing it. Field numbers are from TensorBoard's event.proto,
summary.proto, tensor.proto and plugin_data.proto (hparams).
"""

from __future__ import annotations

import os
import struct
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

LONGEST = 64 << 20
"""Maximum bytes of a record. Longer records are skipped."""
MOST_TAGS = 100_000
"""Maximum number of tags whose plugin a reader remembers."""
MOST_NUMBERS = 100_000
"""Maximum numbers in a tensor. Larger tensors are rejected."""
_HEAD = struct.Struct("<QI")
_FORMATS = {1: "f", 2: "d", 3: "i", 4: "B", 5: "h", 6: "b", 9: "q", 10: "?", 17: "H", 19: "e", 22: "I", 23: "Q"}
"""The struct formats of the numbers in tensor_content, by TensorFlow's DataType."""


def _table() -> Tuple[int, ...]:
    entries = []
    for entry in range(256):
        for _ in range(8):
            entry = entry >> 1 ^ (0x82F63B78 if entry & 1 else 0)
        entries.append(entry)
    return tuple(entries)


_TABLE = _table()


def masked_crc(data: bytes) -> int:
    """Return the masked CRC-32C of data, as record files use it."""
    crc, table = 0xFFFFFFFF, _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


class Damaged(ValueError):
    """A file is not an event file, or is damaged."""


class Record(NamedTuple):
    """A record. fault is "", or the reason why data is empty."""

    data: bytes
    end: int  # offset after the record
    fault: str = ""


def records(path: str, offset: int) -> Iterator[Record]:
    """Yield the complete records from offset on. Stop at an incomplete record at the end of the file.

    Raises OSError. Raises Damaged if the length of a record is corrupt.
    """
    with open(path, "rb", buffering=1 << 18) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(offset)
        while True:
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                return
            length, check = _HEAD.unpack(head)
            if masked_crc(head[:8]) != check:
                raise Damaged(f"byte {offset} of {path} is not the beginning of a record")
            start, offset = offset, offset + _HEAD.size + length + 4
            if length > LONGEST:
                if offset > size:
                    return
                file.seek(offset)
                yield Record(b"", offset, f"the record at byte {start} of {path} is longer than {LONGEST >> 20} MiB")
                continue
            data, tail = file.read(length), file.read(4)
            if len(tail) < 4:
                return
            if masked_crc(data) == struct.unpack("<I", tail)[0]:
                yield Record(data, offset)
            else:
                yield Record(b"", offset, f"the record at byte {start} of {path} is damaged")


class Value(NamedTuple):
    """A value in an event, with its tag.

    kind determines the type of value. It is a float for scalar, a list of encoded files for images, a str for text, a tuple
    of counts and edges for histogram, a dictionary for hparams, and for other the name of a plugin that is not supported.
    """

    tag: str
    kind: str
    value: Any


class Event(NamedTuple):
    """An event. wall_time is in Unix seconds. If start is set, the program was restarted at this step."""

    wall_time: float
    step: int
    values: List[Value]
    start: bool = False


def event(data: bytes, plugins: Dict[str, str]) -> Event:
    """Return the event in the data of a record. Raises ValueError if the data is invalid.

    plugins maps tags to plugins. Only the first event of a tag names the plugin, so event adds it to plugins.
    """
    wall_time, step, values, start = 0.0, 0, [], False
    for number, content in fields(data):
        if number == 1:
            wall_time = struct.unpack("<d", content)[0]
        elif number == 2:
            step = _signed(content)
        elif number == 5:
            for inner, summary in fields(content):
                if inner == 1:
                    found = _value(summary, plugins)
                    if found is not None:
                        values.append(found)
        elif number == 7:  # the session log; its field 1 is the status, and 1 is START
            start = (1, 1) in fields(content)
    return Event(wall_time, step, values, start)


def fields(data: Any) -> Iterator[Tuple[int, Any]]:
    """Yield the fields of a message as pairs of a number and an integer or bytes. Raises ValueError if data is invalid."""
    if not isinstance(data, bytes):
        raise ValueError("a message was expected")
    at, end = 0, len(data)
    value: Any
    while at < end:
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
        else:
            if kind == 2:
                size, at = _varint(data, at)
            elif kind in (1, 5):
                size = 8 if kind == 1 else 4
            else:
                raise ValueError("a message has a field of an unknown kind")
            value, at = data[at:at + size], at + size
            if at > end:
                raise ValueError("a message is cut off")
        yield key >> 3, value


def _varint(data: bytes, at: int) -> Tuple[int, int]:
    value = shift = 0
    while shift < 70:
        if at >= len(data):
            raise ValueError("a message is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a number in a message is too long")


def _signed(number: Any) -> int:
    if not isinstance(number, int):
        raise ValueError("a number was expected")
    whole = int(number) & (1 << 64) - 1
    return whole - (1 << 64) if whole >> 63 else whole


def _text(content: Any) -> str:
    if not isinstance(content, bytes):
        raise ValueError("a text was expected")
    return content.decode("utf-8", "replace")


def _value(summary: bytes, plugins: Dict[str, str]) -> Optional[Value]:
    tag, plugin, content = "", None, b""
    found: Dict[int, Any] = {}
    for number, part in fields(summary):
        if number == 1:
            tag = _text(part)
        elif number == 9:
            plugin, content = _plugin(part)
        else:
            found[number] = part
    if plugin is not None:
        if len(plugins) < MOST_TAGS:
            plugins.setdefault(tag, plugin)
    else:
        plugin = plugins.get(tag, "")
    if plugin == "hparams":
        settings = _hparams(content)
        return Value(tag, "hparams", settings) if settings else None
    if 2 in found:
        return Value(tag, "scalar", _floats(found[2], "f")[0])
    if 4 in found:
        return Value(tag, "images", [part for number, part in fields(found[4]) if number == 4])
    if 5 in found:
        return Value(tag, "histogram", _histogram(found[5]))
    if 8 in found:
        return _tensor_value(tag, plugin, found[8])
    return Value(tag, "other", plugin or "audio") if found or plugin else None


def _plugin(metadata: bytes) -> Tuple[str, bytes]:
    name, content = "", b""
    for number, part in fields(metadata):
        if number == 1:
            for inner, value in fields(part):
                if inner == 1:
                    name = _text(value)
                elif inner == 2:
                    content = value
    return name, content


def _hparams(content: bytes) -> Dict[str, Any]:
    """Return the hyperparameters at the start of a session. Return {} for other content of the plugin."""
    settings: Dict[str, Any] = {}
    for number, part in fields(content):
        if number != 3:  # field 3 is session_start_info
            continue
        for inner, entry in fields(part):
            if inner != 1:
                continue
            pair = dict(fields(entry))
            for kind, value in fields(pair.get(2, b"")):  # the value is a google.protobuf.Value
                if kind == 2:
                    number_value = struct.unpack("<d", value)[0]
                    settings[_text(pair[1])] = int(number_value) if number_value.is_integer() else number_value
                elif kind == 3:
                    settings[_text(pair[1])] = _text(value)
                elif kind == 4:
                    settings[_text(pair[1])] = bool(value)
    return settings


def _tensor_value(tag: str, plugin: str, data: bytes) -> Optional[Value]:
    tensor = _tensor(data)
    if plugin == "text" and tensor.texts:
        return Value(tag, "text", "\n\n".join(_text(part) for part in tensor.texts))
    if plugin == "images":
        return Value(tag, "images", tensor.texts[2:])  # the first two strings are width and height
    if plugin == "histograms":
        return Value(tag, "histogram", _buckets(tensor.numbers)) if tensor.numbers else None
    if plugin in ("scalars", "") and len(tensor.numbers) == 1:
        return Value(tag, "scalar", tensor.numbers[0])
    return Value(tag, "other", plugin or "tensors")


class _Tensor(NamedTuple):
    numbers: List[float]
    texts: List[bytes]


def _tensor(data: bytes) -> _Tensor:
    numbers: List[float] = []
    texts: List[bytes] = []
    kind, content = 0, b""
    for number, part in fields(data):
        if isinstance(part, bytes) and number != 8 and len(part) > 8 * MOST_NUMBERS:
            raise ValueError("a tensor is too large")
        if number == 1:
            kind = part
        elif number == 4:
            content = part
        elif number in (5, 6):
            numbers += _floats(part, "f" if number == 5 else "d")
        elif number in (7, 10, 11, 16, 17):
            numbers += [float(one if number > 11 else _signed(one)) for one in _whole(part)]
        elif number == 13:
            numbers += [_half(one, kind) for one in _whole(part)]
        elif number == 8:
            texts.append(part)
        if len(numbers) > MOST_NUMBERS or len(texts) > MOST_NUMBERS:
            raise ValueError("a tensor is too large")
    if content and kind == 14:
        numbers = [_half(one, kind) for one in struct.unpack(f"<{len(content) // 2}H", content)]
    elif content and kind in _FORMATS:
        numbers = _floats(content, _FORMATS[kind])
    return _Tensor(numbers, texts)


def _floats(content: bytes, form: str) -> List[float]:
    """Decode packed floating-point numbers or fixed-size integers."""
    size = struct.calcsize("<" + form)
    if not isinstance(content, bytes) or not content or len(content) % size or len(content) > size * MOST_NUMBERS:
        raise ValueError("a list of numbers has the wrong length")
    return [float(one) for one in struct.unpack(f"<{len(content) // size}{form}", content)]


def _whole(part: Any) -> Iterator[int]:
    """Decode one integer, or packed varints."""
    if isinstance(part, int):
        yield part
        return
    at = 0
    while at < len(part):
        value, at = _varint(part, at)
        yield value


def _half(bits: int, kind: int) -> float:
    """Decode a 16-bit float: bfloat16 if kind is 14, or else IEEE half. bfloat16 is the upper half of a 32-bit float."""
    packed = struct.pack("<H", bits & 0xFFFF)
    return float(struct.unpack("<f", b"\0\0" + packed)[0] if kind == 14 else struct.unpack("<e", packed)[0])


def _histogram(data: bytes) -> Tuple[List[float], List[float]]:
    """Return counts and edges. The outermost buckets, which might be infinitely wide, end at the smallest and largest
    value."""
    found: Dict[int, List[float]] = {}
    for number, part in fields(data):
        if number in (1, 2, 6, 7):
            found[number] = found.get(number, []) + _floats(part, "d")
    limits, counts = found.get(6, []), found.get(7, [])
    if not counts or len(limits) != len(counts):
        raise ValueError("a histogram has no buckets")
    low, high = found.get(1, [0.0])[0], found.get(2, [0.0])[0]
    used = [number for number, count in enumerate(counts) if count]
    if not used:
        return [0.0], [low, high if high > low else low + 1.0]
    counts, limits = counts[used[0]:used[-1] + 1], limits[used[0]:used[-1] + 1]
    edges = [low]
    for limit in limits[:-1]:
        edges.append(max(limit, edges[-1]))
    return counts, edges + [max(high, edges[-1])]


def _buckets(numbers: List[float]) -> Tuple[List[float], List[float]]:
    """Return counts and edges. numbers are rows of left edge, right edge and count."""
    if len(numbers) % 3:
        raise ValueError("a histogram has the wrong shape")
    return numbers[2::3], numbers[0::3] + [numbers[-2]]
