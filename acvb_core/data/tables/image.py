"""Columns that are pixels: where each stands in the picture."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import DataError, ParameterError

ImageSize = str | tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Image:
    """The picture that the columns of a table are pixels of; pixels are counted row by row from 0."""

    height: int
    width: int
    #: The pixel of each column, shape (n_columns,).
    pixels: NDArray[np.int64]
    #: The constant value of each pixel that no column shows, NaN where it is not known, and where a column shows it.
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
