"""Clusterings as small pictures side by side, as the papers show them: links dark, borders of clusters in colour."""

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
_COLOURS = 24


def keep_answer(problem: Any, posterior: Posterior) -> dict[str, list[int]]:
    """Return the most probable cluster of each object."""
    return {domain: posterior.labels(domain).tolist() for domain in posterior.averaged}


def draw_answers(tiles: Sequence[tuple[str, Any, Mapping[str, Any]]]) -> bytes:
    """Return a PNG file with the clusterings at the end of runs: titles, relations, and what was kept of the runs."""
    rows = -(-len(tiles) // _COLUMNS)
    across, down = _SIDE + 2 * _MARGIN, _SIDE + 2 * _MARGIN + _TITLE
    sheet = Image.new("RGB", (min(len(tiles), _COLUMNS) * across, rows * down), "white")
    pen = ImageDraw.Draw(sheet)
    for number, (title, relation, answers) in enumerate(tiles):
        x, y = (number % _COLUMNS) * across + _MARGIN, (number // _COLUMNS) * down + _MARGIN
        pen.text((x, y), title, fill="black")
        sheet.paste(_draw_blocks(relation, answers["last"]), (x, y + _TITLE))
    buffer = io.BytesIO()
    sheet.quantize(_COLOURS).save(buffer, "PNG", optimize=True)
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
    sizes = np.bincount(labels)
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    place = np.empty(len(labels), dtype=np.int64)
    place[np.argsort(rank[labels], kind="stable")] = np.arange(len(labels))
    return place, np.cumsum(sizes[order][sizes[order] > 0])[:-1]
