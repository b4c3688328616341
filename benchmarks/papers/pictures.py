"""Results of methods as small pictures, as the papers show it: sorted relations, and weights of features."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from acvb_core.core.protocols import Posterior

#: Pixels of a side, of the margin around a picture, and of its title; pictures in a row.
_SIDE, _MARGIN, _TITLE, _COLUMNS = 260, 8, 16, 3
_ROW_BORDER, _COLUMN_BORDER = (213, 94, 0), (0, 114, 178)
#: A pixel with this many times the mean number of links is black.
_DARKEST = 6.0


def keep_clusters(posterior: Posterior) -> dict[str, list[int]]:
    """Return the most probable cluster of each object."""
    return {domain: posterior.labels(domain).tolist() for domain in posterior.averaged}


def draw_clusters(tiles: Sequence[tuple[str, Any, Mapping[str, Any]]]) -> bytes:
    """Return a PNG file with the clusterings at the end of runs: titles, relations, and what was kept of the runs."""
    rows = -(-len(tiles) // _COLUMNS)
    across, down = _SIDE + 2 * _MARGIN, _SIDE + 2 * _MARGIN + _TITLE
    sheet = Image.new("RGB", (min(len(tiles), _COLUMNS) * across, rows * down), "white")
    pen = ImageDraw.Draw(sheet)
    for number, (title, relation, answers) in enumerate(tiles):
        x, y = (number % _COLUMNS) * across + _MARGIN, (number // _COLUMNS) * down + _MARGIN
        pen.text((x, y), title, fill="black")
        sheet.paste(_draw_blocks(relation, answers["last"]), (x, y + _TITLE))
    return _encode(sheet, 24)


def _encode(sheet: Image.Image, n_colours: int) -> bytes:
    buffer = io.BytesIO()
    sheet.quantize(n_colours).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _draw_blocks(relation: Any, labels: Mapping[str, list[int]]) -> Image.Image:
    """Return a relation sorted by cluster, the largest first."""
    sides = list(labels.values())
    places, ends = zip(*(_sort_objects(np.array(side)) for side in (sides[0], sides[-1])), strict=True)
    links = relation.ones.tocoo()
    bins = [(0, len(place)) for place in places]
    counts, _, _ = np.histogram2d(places[0][links.coords[0]], places[1][links.coords[1]], _SIDE, bins)
    darkness = np.minimum(counts / (_DARKEST * max(counts.mean(), 1e-12)), 1.0)
    image = Image.fromarray((255 * (1.0 - darkness)).astype(np.uint8)).convert("RGB")
    pen = ImageDraw.Draw(image)
    for end in ends[0] * _SIDE / len(places[0]):
        pen.line((0, end, _SIDE, end), fill=_ROW_BORDER)
    for end in ends[1] * _SIDE / len(places[1]):
        pen.line((end, 0, end, _SIDE), fill=_COLUMN_BORDER)
    pen.rectangle((0, 0, _SIDE - 1, _SIDE - 1), outline="grey")
    return image


def _sort_objects(labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the place of every object, and where the clusters end but the last."""
    _, cluster, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    place = np.argsort(np.argsort(np.argsort(order)[cluster], kind="stable"))
    return place, np.cumsum(sizes[order])[:-1]


#: Pixels of a picture's cell, and of a gap; features shown of an answer at most.
_CELL, _GAP, _MOST = 6, 6, 12


def keep_weights(posterior: Posterior) -> list[list[float]]:
    """Return the weights of the most frequent features, one row a feature."""
    return np.round(posterior["weights"][:_MOST], 3).tolist()


def draw_weights(tiles: Sequence[tuple[str, Any, Mapping[str, Any]]]) -> bytes:
    """Return a PNG file: a row of features after the first sweeps of each run, and one at its end."""
    rows = [(f"{title}, {when}", table, answers[name]) for title, table, answers in tiles
            for name, when in (("early", "sweep 5"), ("last", "in the end")) if name in answers]  # fmt: skip
    side = max(round(table.n_columns**0.5) for _, table, _ in rows) * _CELL
    sheet = Image.new("L", (_GAP + _MOST * (side + _GAP), len(rows) * (side + _TITLE + _GAP)), 255)
    pen = ImageDraw.Draw(sheet)
    for number, (title, table, weights) in enumerate(rows):
        y = number * (side + _TITLE + _GAP)
        pen.text((_GAP, y + 2), title, fill=0)
        for place, own in enumerate(weights):
            x, height = _GAP + place * (side + _GAP), round(table.n_columns**0.5)
            size = np.abs(np.reshape(own, (height, -1)))
            picture = Image.fromarray((255 * (1.0 - size / max(size.max(), 1e-12))).astype(np.uint8))
            sheet.paste(picture.resize((side, side), Image.Resampling.NEAREST), (x, y + _TITLE))
            pen.rectangle((x - 1, y + _TITLE - 1, x + side, y + _TITLE + side), outline=160)
    return _encode(sheet, 16)


#: By model: posterior -> the answer in plain values, kept with a run.
KEEPERS = {"irm": keep_clusters, "lfm": keep_weights}
#: By model: titles, data and answers of runs -> a PNG file.
DRAWERS = {"irm": draw_clusters, "lfm": draw_weights}
