"""A relation as a picture: binned density in an 8-bit palette, unknown entries in a tone of their own."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from acvb_core.data.relation import Relation
from acvb_core.models.irm.scores import without_diagonal
from acvb_core.views.parts import place_picture, png_uri
from acvb_core.views.theme import INK, UNKNOWN, Part

_MISSING_LEVELS = 8
_DENSITY_LEVELS = 256 // _MISSING_LEVELS
#: Entries that are counted at a time: others run between, and the memory stays small.
_AT_ONCE = 1_000_000


@dataclass(frozen=True, eq=False)
class Raster:
    """The counts behind a picture of a relation."""

    #: `ones`, `missing`, `cells`: shape (height, width); links (or their weights, if `weighted`), unknown entries and
    #: all entries of each pixel. The diagonal of a network whose self-links do not count is no entry, and not unknown
    #: either.
    ones: NDArray[Any]
    missing: NDArray[np.int64]
    cells: NDArray[np.int64]
    #: First row, end row, first column, end column of the sorted relation that are shown.
    window: tuple[int, int, int, int]
    weighted: bool = False

    @property
    def power(self) -> float:
        """The power of a density that its tone shows: roots keep faint blocks visible, and light links."""
        return 0.25 if self.weighted else 0.5

    @property
    def exact(self) -> bool:
        """Return whether every pixel is one entry."""
        return bool(self.cells.max() <= 1)

    @property
    def density(self) -> NDArray[np.float64]:
        """Share of ones, or mean weight, of the observed entries of each pixel, 0 if nothing is observed."""
        observed = self.cells - self.missing
        return np.divide(self.ones, observed, out=np.zeros(self.ones.shape), where=observed > 0)

    @property
    def top(self) -> float:
        """Density shown darkest: the 99.5 % quantile of the pixels with links, so that one pixel rules nothing.

        The largest weight, as the root of weights keeps the others visible.
        """
        density = self.density
        if self.weighted or self.exact:
            return float(density.max(initial=0.0)) or 1.0
        return float(np.quantile(density[density > 0], 0.995)) if (density > 0).any() else 1.0


def count_in_bins(
    pattern: Any,
    row_bin: NDArray[Any],
    column_bin: NDArray[Any],
    shape: tuple[int, int],
    weights: NDArray[np.float64] | None = None,
) -> NDArray[Any]:
    """Return how many entries of a pattern, or what weights, fall into each of `shape` bins.

    A negative bin leaves its objects out.
    """
    indptr = pattern.indptr
    counts = np.zeros(shape[0] * shape[1], dtype=np.int64 if weights is None else np.float64)
    cuts = np.searchsorted(indptr, np.arange(0, indptr[-1], _AT_ONCE))
    for first, stop in pairwise(np.unique([*cuts, len(row_bin)]).tolist()):
        down = np.repeat(row_bin[first:stop], np.diff(indptr[first : stop + 1]))
        across = column_bin[pattern.indices[indptr[first] : indptr[stop]]]
        inside = (down >= 0) & (across >= 0)
        some = None if weights is None else weights[indptr[first] : indptr[stop]][inside]
        counts += np.bincount(down[inside] * shape[1] + across[inside], some, minlength=len(counts))
    return counts.reshape(shape)


def bins_of(
    position: NDArray[Any], low: int, high: int, n_bins: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the bin of each object when positions low … high - 1 are divided evenly, and the bins' sizes.

    Objects outside the window get -1.
    """
    bins = np.arange(high - low) * n_bins // (high - low)
    inside = (position >= low) & (position < high)
    own = np.where(inside, (np.asarray(position, dtype=np.int64) - low) * n_bins // (high - low), -1)
    return own, np.bincount(bins, minlength=n_bins)


def rasterise(
    relation: Relation,
    row_position: NDArray[Any],
    column_position: NDArray[Any],
    window: tuple[int, int, int, int],
    size: int = 1000,
    *,
    weighted: bool = False,
) -> Raster:
    """Count a window of a relation, sorted by the given positions of its objects, in at most `size` pixels a side.

    `weighted`: add up the weights of links, if they have any.
    """
    weights = relation.weights if weighted else None
    row_low, row_high, column_low, column_high = window
    height, width = _pixels(row_high - row_low, size), _pixels(column_high - column_low, size)
    row_bin, row_sizes = bins_of(row_position, row_low, row_high, height)
    column_bin, column_sizes = bins_of(column_position, column_low, column_high, width)
    shape = (height, width)
    ones = count_in_bins(relation.ones, row_bin, column_bin, shape, weights)
    missing = np.zeros(shape, dtype=np.int64)
    if relation.n_missing:
        missing = count_in_bins(relation.missing, row_bin, column_bin, shape)
    cells = np.outer(row_sizes, column_sizes)
    if without_diagonal(relation):
        inside = (row_bin >= 0) & (column_bin >= 0)
        own = np.zeros(shape, dtype=np.int64)
        np.add.at(own, (row_bin[inside], column_bin[inside]), 1)
        cells, missing = cells - own, missing - own
    return Raster(ones, missing, cells, window, weights is not None)


def _pixels(length: int, size: int) -> int:
    # Bins of one and of two objects side by side would show as stripes; up to half as much again fits one to one.
    return length if length <= 1.5 * size else size


def paint(raster: Raster, top: float | None = None) -> NDArray[np.uint8]:
    """Return the palette index of each pixel: white for no links to dark for `top`, mixed with grey for unknown.

    Density is shown by a root of it (`Raster.power`).
    """
    strength = np.clip(raster.density / (top or raster.top), 0.0, 1.0) ** raster.power
    if not raster.missing.any():
        return np.rint(strength * 255).astype(np.uint8)
    density_level = np.rint(strength * (_DENSITY_LEVELS - 1))
    missing_level = np.ceil(raster.missing / np.maximum(raster.cells, 1) * (_MISSING_LEVELS - 1))
    return (missing_level * _DENSITY_LEVELS + density_level).astype(np.uint8)


def palette(with_missing: bool) -> NDArray[np.uint8]:
    """Return the 256 colours that `paint` points to, shape (256, 3)."""
    if not with_missing:
        return _ramp(256).astype(np.uint8)
    share = np.arange(_MISSING_LEVELS)[:, None, None] / (_MISSING_LEVELS - 1)
    mixed = (1 - share) * _ramp(_DENSITY_LEVELS)[None] + share * np.array(UNKNOWN)
    return np.rint(mixed).reshape(256, 3).astype(np.uint8)


def _ramp(levels: int) -> NDArray[np.float64]:
    share = np.linspace(0, 1, levels)[:, None]
    return np.rint((1 - share) * 255 + share * np.array(INK))


def picture(raster: Raster, top: float | None = None) -> Image.Image:
    """Return the raster as a palette image, one pixel a bin."""
    pixels = paint(raster, top)
    image = Image.frombytes("P", (pixels.shape[1], pixels.shape[0]), pixels.tobytes())
    image.putpalette(palette(bool(raster.missing.any())).ravel().tolist())
    return image


def matrix_image(raster: Raster, top: float | None = None) -> Part:
    """Return the raster as an image of a figure whose axes are places of rows and columns."""
    row_low, row_high, column_low, column_high = raster.window
    uri = png_uri(picture(raster, top))
    return place_picture(uri, column_low, row_low, column_high - column_low, row_high - row_low)
