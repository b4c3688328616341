"""Inputs made from others: bytes changed at random, also inside of archives, arrays and JSON."""

from __future__ import annotations

import gzip
import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

#: Bytes of an input at most.
MOST_BYTES = 1 << 16
#: Pieces that mean something to one reader or another.
TOKENS = (
    b",", b";", b"\t", b"|", b" ", b"\n", b"\r\n", b"\r", b'"', b'""', b"'", b"\\", b"#", b"%", b"*", b":", b"\x00",
    b"\x1a", b"\x85", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xff\xfe\x00\x00", b"\xe2\x80\xa8",
    b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xcc\x81", b"\xc2\xa0", b"\xe2\x88\x92", "é".encode("latin-1"),
    b"nan", b"NaN", b"inf", b"-inf", b"1e999", b"1e-400", b"0x10", b"1_000", b"1,5", b"-0", b"NA", b"?",
    b"null", b"None",
    b"true", b"yes", b"no", b"", b"{", b"}", b"[", b"]", b"<", b">", b"/>", b"&amp;", b"&#0;", b"<!--", b"]]>",
    b"\x1f\x8b\x08", b"PK\x03\x04", b"\x93NUMPY", b"PAR1", b"ARROW1", b"SQLite format 3\x00",
    b"%%MatrixMarket matrix coordinate real symmetric\n", b"%%MatrixMarket matrix array complex hermitian\n",
    b"*Vertices 3\n", b"*Arcs\n", b"*Matrix\n", b"*Edgeslist\n", b"graph [\n", b"node [ id 1 ]",
    b"edge [ source 1 target 1 ]",
    b"<graphml>", b"<gexf>", b"<node id='1'/>", b"<edge source='1' target='1'/>",
    b'<?xml version="1.0" encoding="utf-16"?>',
    b'"nodes": []', b'"links": []', b'"source"', b'"target"', b'"directed"', b'"id"', b"label", b"weight", b"text",
    b"document,word,count\n", b"source,target\n", b"node\n",
)  # fmt: skip
#: Numbers where a count, a place or a size may stand.
NUMBERS = (
    b"0", b"-1", b"1", b"2", b"00", b"1.5", b"127", b"255", b"256", b"32768", b"65536", b"2147483647", b"2147483648",
    b"4294967296", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"18446744073709551616",
    b"1e308", b"1e309", b"-1e100", b"1e-320", b"NaN", b"Infinity", b"1" * 400, b"9" * 5000, "٣".encode(),
    "²".encode(),
)  # fmt: skip
_EXTREMES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 1.5, 1e308, -1e308, float("nan"), float("inf"), 2**31, 2**63, 2**64,
    10**400, "", "a", "0",
    "nan", "\x00", "\ud800", "é" * 50, [], {}, [[]], [None], {"id": 1}, [1, 2], ["a", "a"],
    "acvb_core.core.errors:DataError",
)  # fmt: skip
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")

Draw = Callable[[Random], bytes]
Change = Callable[[Random, bytes, Sequence[bytes]], bytes]


def draw_input(rng: Random, draw: Draw | None, seeds: Sequence[bytes], first: int) -> bytes:
    """Return a random file of a format, where it has such, or a changed seed; mostly one after the `first` ones."""
    if draw is not None and rng.random() < 0.2:
        content = draw(rng)
        return mutate(rng, content, seeds) if rng.random() < 0.3 else content[:MOST_BYTES]
    return mutate(rng, rng.choice(seeds if rng.random() < 0.6 else seeds[:first]), seeds)


def mutate(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Return an input with a few changes; `others` are inputs that it may take pieces from."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        content = _change(rng, content, others)[:MOST_BYTES]
    return gzip.compress(content, 1) if rng.random() < 0.01 else content


def _change(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Change something inside of what is packed, mostly; otherwise the bytes as they are."""
    if rng.random() < 0.8:
        for start, unpacked in (
            (b"PK", _change_archive),
            (b"\x1f\x8b", _change_packed),
            (b"\x93NUMPY", change_array),
        ):
            if content.startswith(start):
                try:
                    return unpacked(rng, content, others)
                except (
                    Exception
                ):  # it is damaged already: whatever that raises, its bytes can still be changed
                    break
    if content[:1] in (b"{", b"[") and rng.random() < 0.5:
        return change_json(rng, content, others)
    return rng.choice(_CHANGES)(rng, content, others)


def _flip(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    changed = bytearray(content or b"\x00")
    for _ in range(rng.choice((1, 1, 2, 4))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Write a number of 1 to 8 bytes, or random bytes, over what is there: sizes and offsets of binary files."""
    size = rng.choice((1, 2, 4, 8))
    number = rng.choice((0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, rng.getrandbits(64))) & (256**size - 1)
    at = rng.randrange(len(content) + 1)
    return content[:at] + number.to_bytes(size, rng.choice(("little", "big"))) + content[at + size :]


def _truncate(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _piece(rng: Random, content: bytes) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.choice((1, 2, 4, 10, 40, 200)))


def _delete(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    start, end = _piece(rng, content)
    return content[:start] + content[end:]


def _duplicate(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    start, end = _piece(rng, content)
    return content[:end] + content[start:end] * rng.choice((1, 1, 2, 50)) + content[end:]


def _insert(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(content) + 1) if rng.random() < 0.8 else 0
    return content[:at] + rng.choice(TOKENS) * rng.choice((1, 1, 1, 3, 300)) + content[at:]


def _replace_number(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    places = [match.span() for match in _NUMBER.finditer(content)]
    if not places:
        return _insert(rng, content, others)
    start, end = rng.choice(places)
    return content[:start] + rng.choice(NUMBERS) + content[end:]


def _splice(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others) if others else content
    start, end = _piece(rng, other)
    at = rng.randrange(len(content) + 1)
    return content[:at] + (other[start:] if rng.random() < 0.3 else other[start:end]) + content[at:]


def _shuffle_lines(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    action = rng.randrange(4)
    if action == 0:
        lines[one], lines[two] = lines[two], lines[one]
    elif action == 1:
        lines[one:one] = [lines[two]] * rng.choice((1, 1, 2, 100))
    elif action == 2:
        del lines[one]
    else:
        lines[one] = lines[one].rstrip(b"\r\n") + lines[two]
    return b"".join(lines)


def _recode(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Write a text in another encoding, with or without a byte order mark, or with other line ends or separators."""
    if rng.random() < 0.5:
        old, new = rng.sample((b",", b";", b"\t", b"|", b" ", b"\n", b"\r\n", b"\r", b'"', b"."), 2)
        return content.replace(old, new)
    text = content.decode("utf-8", errors="replace")
    return text.encode(
        rng.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig", "cp1252")), errors="replace"
    )


_CHANGES: tuple[Change, ...] = (
    _flip, _flip, _overwrite, _truncate, _delete, _duplicate, _insert, _insert, _replace_number, _replace_number,
    _splice, _shuffle_lines, _recode,
)  # fmt: skip


def change_json(rng: Random, content: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Replace, remove or repeat a value somewhere inside of JSON, or in one line of it."""
    before, line, after = b"", content, b""
    try:
        tree = json.loads(line)
    except (ValueError, RecursionError):
        lines = content.splitlines(keepends=True)
        at = rng.randrange(len(lines))
        before, line, after = b"".join(lines[:at]), lines[at], b"".join(lines[at + 1 :])
        try:
            tree = json.loads(line)
        except (ValueError, RecursionError):
            return rng.choice(_CHANGES)(rng, content, others)
    changed = json.dumps(_change_tree(rng, tree), ensure_ascii=rng.random() < 0.5)
    return (
        before + changed.encode("utf-8", "surrogatepass") + (b"\n" if line.endswith(b"\n") else b"") + after
    )


def _change_tree(rng: Random, tree: Any) -> Any:
    if not isinstance(tree, dict | list) or not tree or rng.random() < 0.15:
        return rng.choice(_EXTREMES)
    keys: list[Any] = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    key = rng.choice(keys)
    action = rng.random()
    if action < 0.15:
        del tree[key]
    elif action < 0.3:
        if isinstance(tree, dict):
            tree[rng.choice(("", "id", "source", "\ud800", key + key))] = tree.pop(key)
        else:
            tree.insert(key, tree[rng.choice(keys)])
    elif action < 0.35:
        tree[key] = tree[rng.choice(keys)]
    else:
        tree[key] = _change_tree(rng, tree[key])
    return tree


def change_array(rng: Random, content: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Change the numbers, the shape or the type of an array in NumPy's format; JSON in it as JSON."""
    array = np.load(io.BytesIO(content), allow_pickle=False)
    draws = np.random.default_rng(rng.getrandbits(32))
    action = rng.random()
    if array.dtype == np.uint8 and array.ndim == 1 and action < 0.8:
        array = np.frombuffer(change_json(rng, array.tobytes()), dtype=np.uint8)
    elif action < 0.4 and array.size and array.dtype.kind in "biuf":
        array = array.copy()
        value = rng.choice(
            (0, 1, -1, 2**31, 2**63 - 1, np.nan, np.inf, 1e308, 1e-320, int(array.flat[-1] == 0) + 1)
        )
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array.flat[draws.integers(array.size)] = np.array(value).astype(array.dtype)
    elif action < 0.6:
        kind = rng.choice(
            ("<f4", ">f8", "<i8", ">i2", "u1", "?", "<c16", "<U3", "S2", "<M8[s]", "<f2", "V4", "<u8")
        )
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = array.astype(kind)
    elif action < 0.8:
        shapes = ((-1,), (1, -1), (-1, 1), (1, 1, -1), (0,), (0, 3), ())
        shape = rng.choice(shapes)
        array = array.reshape(shape) if -1 in shape else np.zeros(shape, array.dtype)
    else:
        array = array[: rng.randrange(len(array) + 1)] if array.ndim else array.reshape(1)
    packed = io.BytesIO()
    np.save(packed, np.asfortranarray(array) if rng.random() < 0.1 else array)
    return packed.getvalue()


def _change_packed(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    with gzip.open(io.BytesIO(content)) as unpacked:
        return gzip.compress(_change(rng, unpacked.read(MOST_BYTES), others), 1)


def _change_archive(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Change a member of an archive, or which there are, and pack them again."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()[:50]]
    at = rng.randrange(len(members))
    name, inside = members[at]
    action = rng.random()
    if action < 0.8:
        members[at] = name, _change(rng, inside, [one for _, one in members])
    elif action < 0.87:
        del members[at]
    elif action < 0.93:
        members.append((rng.choice((name, "rows.npy", "a/../b.txt", "labels.npy", "é.txt", "x/")), inside))
    else:
        members[at] = name, rng.choice(members)[1]
    packed = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(packed, "w", rng.choice((0, 8))) as archive:
        warnings.simplefilter("ignore")
        for name, inside in members:
            archive.writestr(name, inside)
    return packed.getvalue()
