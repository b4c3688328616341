"""Fields of a delimited text as numbers: exact, compiled, with everything that is no number marked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from acvb_core.data.sources.records import RecordBatch

#: What a field is. LONG numbers have more digits than one product of exact doubles can give.
NUMBER, LONG, OTHER = range(3)
_WIDEST = 40
_POWERS = np.array([float(f"1e{i}") for i in range(23)])  # all of them exact


def parse_numbers(
    batch: RecordBatch, columns: NDArray[np.int64], decimal: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the numbers in some columns of a batch.

    Parameters
    ----------
    batch : RecordBatch
    columns : int64 array, shape (n_columns,)
    decimal : str
        "." or ",".

    Returns
    -------
    values : float64 array, shape (n_records, n_columns)
        The double next to the decimal number, as float() gives it; nan where a field is no number.
    other : bool array of that shape
        Where it is none ("", "NA", "inf", text).
    """
    shape = batch.n_records, len(columns)
    values = np.empty(shape)
    kinds = np.empty(shape, dtype=np.uint8)
    code = ord(decimal)
    _parse(batch.text, batch.starts, batch.ends, batch.n_fields, columns, code, _POWERS, values, kinds)
    records, places = np.nonzero(kinds == LONG)
    if len(records):
        fields = records * batch.n_fields + columns[places]
        values[records, places] = _exactly(batch, fields, decimal)
    return values, kinds == OTHER


def _exactly(batch: RecordBatch, fields: NDArray[np.int64], decimal: str) -> NDArray[np.float64]:
    """Return numbers of many digits: NumPy reads strings of bytes as exactly as Python does."""
    found = np.empty(len(fields))
    lengths = batch.ends[fields] - batch.starts[fields]
    short = lengths <= _WIDEST
    packed = np.zeros((int(short.sum()), _WIDEST), dtype=np.uint8)
    _pack(batch.text, batch.starts[fields[short]], batch.ends[fields[short]], ord(decimal), packed)
    # A number such as 1e999 is infinite: what calls looks for those.
    with np.errstate(over="ignore"):
        found[short] = packed.view(f"S{_WIDEST}").ravel().astype(np.float64)
    for at in np.flatnonzero(~short):
        field = fields[at]
        text = batch.text[batch.starts[field] : batch.ends[field]].tobytes().decode("ascii")
        found[at] = float(text.replace(decimal, "."))
    return found


@njit(nogil=True, cache=True)
def _parse(
    text: Any, starts: Any, ends: Any, n_fields: Any, columns: Any, decimal: Any, powers: Any, values: Any,
    kinds: Any,
) -> None:  # fmt: skip
    """Read [+-]digits[.digits][e[+-]digits]; a mantissa below 2**53 and a power up to 22 make one exact product."""
    for record in range(values.shape[0]):
        for i in range(columns.shape[0]):
            at = record * n_fields + columns[i]
            p = starts[at]
            end = ends[at]
            values[record, i] = np.nan
            kinds[record, i] = OTHER
            negative = False
            if p < end and (text[p] == 43 or text[p] == 45):
                negative = text[p] == 45
                p += 1
            mantissa = np.int64(0)
            digits = 0  # all of them
            significant = 0  # those behind the leading zeros
            scale = 0
            point = False
            while p < end:
                byte = text[p]
                if 48 <= byte <= 57:
                    digits += 1
                    if significant > 0 or byte != 48:
                        significant += 1
                    if significant <= 18:
                        mantissa = mantissa * 10 + np.int64(byte - 48)
                    if point:
                        scale -= 1
                elif byte == decimal and not point:
                    point = True
                else:
                    break
                p += 1
            if digits == 0:
                continue
            if p < end and (text[p] == 101 or text[p] == 69):
                p += 1
                down = False
                if p < end and (text[p] == 43 or text[p] == 45):
                    down = text[p] == 45
                    p += 1
                exponent = 0
                begin = p
                while p < end and 48 <= text[p] <= 57:
                    if exponent < 100_000:
                        exponent = exponent * 10 + int(text[p]) - 48
                    p += 1
                if p == begin:
                    continue
                scale += -exponent if down else exponent
            if p < end:
                continue
            if significant > 18 or mantissa > 9007199254740992 or scale < -22 or scale > 22:
                kinds[record, i] = LONG
                continue
            kinds[record, i] = NUMBER
            number = np.float64(mantissa)
            number = number / powers[-scale] if scale < 0 else number * powers[scale]
            values[record, i] = -number if negative else number


@njit(nogil=True, cache=True)
def _pack(text: Any, starts: Any, ends: Any, decimal: Any, packed: Any) -> None:
    for i in range(packed.shape[0]):
        for p in range(starts[i], ends[i]):
            byte = text[p]
            packed[i, p - starts[i]] = 46 if byte == decimal else byte
