"""The validated table: numbers that describe objects, some of them missing; perhaps pixels of pictures."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.names import (
    check_metadata,
    is_numbering,
    mend_text,
    plain_ids,
    text_array,
    text_of,
    unique_names,
)
from acvb_core.data.report import plural
from acvb_core.data.sources.arrays import to_array, to_dense
from acvb_core.data.sources.frames import is_frame, open_object
from acvb_core.data.sources.values import Floats

ImageSize = str | tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Image:
    """The picture that the columns of a table are pixels of; pixels are counted row by row from 0."""

    height: int
    width: int
    #: The pixel of each column, shape (n_columns,).
    pixels: NDArray[np.int64]
    #: The constant value of each pixel that no column shows, NaN if it is not known, and if a column shows it.
    background: NDArray[np.float64]

    @classmethod
    def whole(cls, height: int, width: int) -> Image:
        """Return a picture whose pixels are the columns, row by row."""
        size = height * width
        return cls(height, width, np.arange(size, dtype=np.int64), np.full(size, np.nan))

    def without(self, left_out: NDArray[np.bool_], values: NDArray[np.float64]) -> Image:
        """Return the picture without the columns `left_out` (bool), whose constant `values` it keeps as background."""
        background = self.background.copy()
        background[self.pixels[left_out]] = values[left_out]
        return Image(self.height, self.width, self.pixels[~left_out], background)

    def picture(
        self, values: NDArray[np.float64], *, fill: NDArray[np.float64] | float | None = None
    ) -> NDArray[np.float64]:
        """Return the columns' values as a picture, shape (height, width).

        Pixels that no column shows are `fill` (default: their background; of weights it is 0).
        """
        shown = np.array(self.background) if fill is None else np.full(self.height * self.width, fill)
        shown[self.pixels] = values
        return shown.reshape(self.height, self.width)

    def check(self, n_columns: int, name: str) -> None:
        """Raise DataError unless each of `n_columns` columns has a pixel of its own."""
        size, pixels = self.height * self.width, np.asarray(self.pixels)
        inside = bool(((pixels >= 0) & (pixels < size)).all())
        whole = min(self.height, self.width) > 0 and np.shape(self.background) == (size,)
        if not (inside and whole and len(pixels) == len(np.unique(pixels)) == n_columns):
            raise DataError(
                f"{n_columns:,} columns do not make a picture of {self.height:,} x {self.width:,} pixels",
                source=name,
                remedy="Give every column a pixel of its own, or no picture.",
            )


def pixel_names(height: int, width: int) -> list[str]:
    """Return names of a picture's pixels, row by row: "r1c1", "r1c2", …"""
    return [f"r{row + 1}c{column + 1}" for row in range(height) for column in range(width)]


def parse_image_size(given: ImageSize) -> tuple[int, int] | None:
    """Return height and width of "8x8", (8, 8) or None; ParameterError for anything else."""
    if given is None:
        return None
    text = given if isinstance(given, str) else "x".join(map(str, given))
    match = re.fullmatch(r"\s*(\d{1,6})\s*[x×, ]\s*(\d{1,6})\s*", text)
    if match is None or 0 in (int(match[1]), int(match[2])):
        raise ParameterError(f"A picture's size is its height and width such as '8x8', not {given!r}.")
    return int(match[1]), int(match[2])


#: Largest size of a number: squares and their sums stay finite.
LARGEST = 1e100
#: Largest standard deviation of a column that is not standardised, and its inverse the smallest: variances, and ratios
#: of them, can be written.
LARGEST_SPREAD = 1e50
#: Columns that are worked on at a time, so that no second copy of a large table is kept.
_AT_ONCE = 32
_NAMED = 5


@dataclass(frozen=True, eq=False)
class Scale:
    """How the columns of a table are shifted and stretched before methods see them, in the user's units."""

    mean: Floats  # of each column's known cells, shape (n_columns,)
    sd: Floats  # of the same; 1 in the scale of a table that is not standardised

    def apply(self, values: Floats) -> Floats:
        """Return cells of the user's units, shape (…, n_columns), on the standardised scale; NaN stays NaN."""
        return np.asarray((values - self.mean) / self.sd)

    def undo(self, values: Floats) -> Floats:
        """Return cells of the standardised scale in the user's units."""
        return np.asarray(values * self.sd + self.mean)

    def undo_weights(self, weights: Floats) -> Floats:
        """Return differences between cells (such as weights, shape (…, n_columns)) in the user's units."""
        return np.asarray(weights * self.sd)


@dataclass(frozen=True, eq=False)
class Table:
    """Real numbers of objects (rows) in several columns, with missing cells.

    Attributes
    ----------
    values : float64 array, shape (n_rows, n_columns)
        C order, in the user's units; NaN if a cell is missing. Every column has two different values; a row may
        be missing altogether.
    rows, columns : ndarray of str (object dtype), shapes (n_rows,), (n_columns,)
        Unique names.
    name : str
        The user's name of the table.
    standardise : bool
        Whether methods work on columns of standard deviation 1, or in the user's units (see `scale`); of mean 0
        they are either way.
    labels : ndarray of str (object dtype), shape (n_rows,), or None
        A known group of each row, "" if it is not known.
    image : Image or None
        The columns are pixels of a picture.
    metadata : dict of str to array, shape (n_rows,)
        Further columns: numbers, dates (datetime64) or texts. As the labels, they are never used by the inference.
    """

    values: Floats
    rows: NDArray[Any]
    columns: NDArray[Any]
    name: str = "table"
    standardise: bool = True
    labels: NDArray[Any] | None = None
    image: Image | None = None
    metadata: dict[str, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        values: ArrayLike,
        *,
        rows: ArrayLike | None = None,
        columns: ArrayLike | None = None,
        name: str = "table",
        standardise: bool = True,
        labels: ArrayLike | None = None,
        image: Image | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Table:
        """Validate a table; the values are copied.

        Parameters
        ----------
        values : array or frame, shape (n_rows, n_columns)
            Real numbers; NaN or masked if a cell is missing. What a sparse matrix does not store is 0.
        rows, columns : sequences of str, optional
            Default: those of a frame, else "0", "1", …
        labels : sequence of str, optional
            One for each row.
        metadata : mapping of str to sequences, optional
            Each with one value for each row.

        Raises
        ------
        DataError
            The values are no numbers or not two-dimensional, a side is empty, a number is infinite or above 1e100,
            a column has no two different values, a column that is not standardised has a standard deviation outside
            1e-50 to 1e50, a name is repeated, or lengths disagree.
        """
        if is_frame(values):
            values, *sides = _read_frame(values, name)
            rows, columns = (
                own if given is None else given for given, own in zip((rows, columns), sides, strict=True)
            )
        cells = copy_numbers(values, name)
        n_rows, n_columns = cells.shape
        names = unique_names(columns, n_columns, "column", name)
        _check_columns(cells, names, name)
        if image is not None:
            image.check(n_columns, name)
        groups = None if labels is None else text_array(labels)
        if groups is not None and len(groups) != n_rows:
            what = f"{len(groups):,} labels were given for {n_rows:,} rows"
            raise DataError(what, source=name, remedy="Give a label for every row, or none.")
        row_names = unique_names(rows, n_rows, "row", name)
        further = check_metadata(metadata, n_rows, name, "row")
        table = cls(cells, row_names, names, mend_text(name), True, groups, image, further)
        return table.with_standardise(standardise)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return int(self.values.shape[0]), int(self.values.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows, those without any known cell included."""
        return self.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.shape[1]

    @cached_property
    def n_missing(self) -> int:
        """Number of missing cells."""
        return int(np.isnan(self.values).sum())

    @property
    def n_observed(self) -> int:
        """Number of known cells."""
        return self.n_rows * self.n_columns - self.n_missing

    @property
    def observed(self) -> NDArray[np.bool_]:
        """Return whether each cell is known, shape (n_rows, n_columns)."""
        return ~np.isnan(self.values)

    @property
    def share_missing(self) -> float:
        """Share of the cells that are missing."""
        return self.n_missing / (self.n_rows * self.n_columns)

    @cached_property
    def moments(self) -> Scale:
        """Mean and standard deviation of each column's known cells, standardised or not."""
        mean, sd = np.empty(self.n_columns), np.empty(self.n_columns)
        for begin in range(0, self.n_columns, _AT_ONCE):
            some = slice(begin, begin + _AT_ONCE)
            values = self.values[:, some]
            known = ~np.isnan(values)
            number = known.sum(axis=0)
            mean[some] = np.where(known, values, 0.0).sum(axis=0) / number
            distance = np.where(known, values - mean[some], 0.0)
            # Stretched to 1 first: squares of tiny differences would be 0.
            largest = np.abs(distance).max(axis=0)
            sd[some] = largest * np.sqrt(((distance / largest) ** 2).sum(axis=0) / number)
        return Scale(mean, sd)

    @property
    def scale(self) -> Scale:
        """Transformation from the user's units to the scale that methods work on, by the known cells."""
        if self.standardise:
            return self.moments
        # Centred all the same: sums of squares far from zero would lose their last digits.
        return Scale(self.moments.mean, np.ones(self.n_columns))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of shape, values and whether it is standardised: equal data, equal fingerprint."""
        digest = hashlib.sha256(b"table" + repr((self.shape, bool(self.standardise))).encode())
        for begin in range(0, self.n_rows, 4096):
            part = self.values[begin : begin + 4096] + 0.0  # one sign of zero
            part[np.isnan(part)] = np.nan  # one kind of NaN
            digest.update(part.astype("<f8", copy=False).tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return f"Table({self.name!r}: {self.size_text})"

    @property
    def size_text(self) -> str:
        """Size in words: rows, columns, missing cells."""
        sizes = f"{plural(self.n_rows, 'row')} × {plural(self.n_columns, 'column')}"
        return f"{sizes} · {plural(self.n_missing, 'missing cell')}" if self.n_missing else sizes

    def identity(self) -> dict[str, Any]:
        """Return name, size, scale and fingerprint as plain values: what tells these data from others."""
        return {
            "name": self.name,
            "shape": list(self.shape),
            "missing": self.n_missing,
            "standardise": bool(self.standardise),
            "fingerprint": self.fingerprint,
        }

    def with_standardise(self, standardise: bool) -> Table:
        """Return the same table standardised or not; a DataError refuses units in which methods cannot work."""
        table = replace(self, standardise=standardise)
        sd = np.ones(1) if standardise else table.moments.sd
        wrong = (sd > LARGEST_SPREAD) | (sd < 1 / LARGEST_SPREAD)
        if wrong.any():
            raise DataError(
                f"the column {str(self.columns[wrong.argmax()])!r} has the standard deviation "
                f"{sd[wrong.argmax()]:.3g}, which is outside {1 / LARGEST_SPREAD:g} to {LARGEST_SPREAD:g}",
                source=self.name,
                remedy="Standardise the columns, or give this one in other units.",
            )
        return table

    def with_values(self, values: Floats) -> Table:
        """Return the same rows and columns with other values (float64, C order, of the same shape)."""
        return replace(self, values=values)


def same_valued(values: Floats) -> NDArray[np.bool_]:
    """Return which columns have no two different known values, shape (n_columns,)."""
    return np.asarray(~(np.fmin.reduce(values, axis=0) < np.fmax.reduce(values, axis=0)))


def find_infinite(values: Floats) -> tuple[int, int] | None:
    """Return row and column of a number that is infinite or above LARGEST; None if there is none."""
    wrong = (np.fmax.reduce(values, axis=0) > LARGEST) | (np.fmin.reduce(values, axis=0) < -LARGEST)
    column = int(wrong.argmax())
    return (int((np.abs(values[:, column]) > LARGEST).argmax()), column) if wrong.any() else None


def list_names(names: NDArray[Any] | list[str]) -> str:
    """Return the first few names, and how many more there are."""
    shown = ", ".join(repr(str(name)) for name in names[:_NAMED])
    return shown + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")


def split_index(source: Any) -> tuple[Any, list[str] | None]:
    """Return a pandas frame without its index, and the index if it is more than a numbering."""
    if not (hasattr(source, "iloc") and hasattr(source, "reset_index")):
        return source, None
    # With names that are texts, no numbering of the rows can be taken for that of the columns.
    frame = source.reset_index(drop=True).set_axis([str(name) for name in source.columns], axis=1)
    return frame, None if is_numbering(source.index) else list(map(text_of, source.index))


def _read_frame(given: Any, name: str) -> tuple[Floats, list[str] | None, tuple[str, ...]]:
    """Return the cells of a frame of numbers, and the names of its rows, if it has such, and of its columns."""
    import pyarrow as pa

    frame, rows = split_index(given)
    opened = open_object(frame)
    columns = pa.Table.from_batches(opened.batches()).columns
    cells = np.empty((len(columns[0]), len(columns)))
    for i, column in enumerate(columns):
        try:
            cells[:, i] = column.cast(pa.float64(), safe=False).to_numpy()
        except pa.ArrowException:
            what = f"there are values of the type {column.type} in a table of numbers"
            remedy = (
                "Leave the column out, or read the frame with load_table, which takes names and categories."
            )
            raise DataError(what, source=name, column=opened.names[i], remedy=remedy) from None
    return cells, rows and plain_ids(rows, lambda _: {"source": name}), opened.names


def copy_numbers(values: ArrayLike, name: str) -> Floats:
    """Return a copy of the cells as float64, shape (n_rows, n_columns); DataError if they are no real numbers."""
    given = to_dense(values, name) if sparse.issparse(values) else to_array(values, name)
    if given.ndim != 2 or min(given.shape) == 0:
        what = f"a table has rows and columns, but the values have the shape {given.shape}"
        remedy = "Give a two-dimensional array with at least one row and one column."
        raise DataError(what, source=name, remedy=remedy)
    try:
        if given.dtype.kind in "mMc":  # times and complex numbers would lose what they are
            raise TypeError
        with np.errstate(invalid="ignore"):  # NumPy warns of a signalling NaN, which is one all the same
            return np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        what = f"the values are of the type {given.dtype} and no real numbers"
        remedy = "Give numbers, with NaN for missing cells."
        raise DataError(what, source=name, remedy=remedy) from None


def _check_columns(values: Floats, columns: NDArray[Any], name: str) -> None:
    """Refuse numbers that are too large, and columns of one value."""
    place = find_infinite(values)
    if place is not None:
        row, column = place
        raise DataError(
            f"row {row + 1:,} of the column {str(columns[column])!r} is infinite or above {LARGEST:g}",
            source=name,
            value=str(values[place]),
            remedy="Give finite numbers; NaN means missing.",
        )
    constant = same_valued(values)
    if constant.any():
        number = int(constant.sum())
        raise DataError(
            f"{plural(number, 'column')} of {len(columns):,} {'has' if number == 1 else 'have'} no two different "
            f"values: {list_names(columns[constant])}",
            source=name,
            remedy="Leave constant columns out: they say nothing about the rows.",
        )
