"""The texts that the pointer shows on the block matrix."""

from __future__ import annotations

import numpy as np

from acvb_core.models.irm.figures.arrangement import Arrangement, Window
from acvb_core.models.irm.figures.binning import bins_of, count_in_bins
from acvb_core.models.irm.scores import is_mirrored, without_diagonal
from acvb_core.views.theme import escape


def block_hover(
    arrangement: Arrangement, row_clusters: list[int], column_clusters: list[int]
) -> list[list[str]]:
    """Return the text of each block of some clusters (indices from 0)."""
    return [[_block(arrangement, k, j) for j in column_clusters] for k in row_clusters]


def _block(arrangement: Arrangement, k: int, j: int) -> str:
    rows, columns = arrangement.rows, arrangement.columns
    if arrangement.one and k == j:
        counts = f"{rows.sizes[k]:,} objects"
    else:
        counts = f"{rows.sizes[k]:,} × {columns.sizes[j]:,} objects"
    lines = [f"<b>{_heading(arrangement, k, j)}</b>", counts, *_numbers(arrangement, k, j)]
    return "<br>".join(lines)


def _heading(arrangement: Arrangement, k: int, j: int) -> str:
    if not arrangement.rows.clustered:
        return "as read"
    return pair_name(k, j, arrangement.one, is_mirrored(arrangement.relation))


def pair_name(k: int, j: int, one: bool, undirected: bool) -> str:
    """Return the name of a block of two clusters (indices from 0); `one`: both are clusters of one clustering."""
    if not one:
        return f"row cluster {k + 1} × column cluster {j + 1}"
    if k == j:
        return f"inside cluster {k + 1}"
    return f"cluster {k + 1} {'–' if undirected else '→'} cluster {j + 1}"


def _numbers(arrangement: Arrangement, k: int, j: int) -> list[str]:
    ones, observed = int(arrangement.ones[k, j]), int(arrangement.observed[k, j])
    share = f" ({100 * ones / observed:.3g} %)" if observed else ""
    what = "pairs" if arrangement.one else "entries"
    lines = [f"{ones:,} {'link' if ones == 1 else 'links'} among {observed:,} known {what}{share}"]
    if arrangement.strengths is not None:
        *numbers, interval = arrangement.strengths
        mean, low, high = (100 * float(matrix[k, j]) for matrix in numbers)
        lines.append(f"estimate {mean:.3g} %, {interval} {low:.3g} to {high:.3g} %")
    return lines


def cell_hover(arrangement: Arrangement, window: Window) -> list[list[str]]:
    """Return the text of each entry of a small window: who, whom, linked or not, and the block."""
    row_low, row_high, column_low, column_high = window
    values = _values(arrangement, window)
    rows, columns = arrangement.rows, arrangement.columns
    row_names = [escape(rows.labels[i], 60) for i in rows.order[row_low:row_high]]
    column_names = [escape(columns.labels[j], 60) for j in columns.order[column_low:column_high]]
    row_clusters = [rows.cluster_at(place) - 1 for place in range(row_low, row_high)]
    column_clusters = [columns.cluster_at(place) - 1 for place in range(column_low, column_high)]
    network = arrangement.relation.network
    joint = "×" if network is None else "→" if network.directed else "–"
    tails: dict[tuple[int, int], str] = {}
    texts = []
    for i, k in enumerate(row_clusters):
        line = []
        for j, m in enumerate(column_clusters):
            if (k, m) not in tails:
                block = [_heading(arrangement, k, m), *_numbers(arrangement, k, m)]
                tails[k, m] = "<br>".join(block) if rows.clustered else ""
            line.append(f"<b>{row_names[i]} {joint} {column_names[j]}: {values[i, j]}</b><br>{tails[k, m]}")
        texts.append(line)
    return texts


def _values(arrangement: Arrangement, window: Window) -> np.ndarray:
    row_low, row_high, column_low, column_high = window
    shape = (row_high - row_low, column_high - column_low)
    row_bin, _ = bins_of(arrangement.rows.position, row_low, row_high, shape[0])
    column_bin, _ = bins_of(arrangement.columns.position, column_low, column_high, shape[1])
    words = np.full(shape, "no link", dtype=object)
    words[count_in_bins(arrangement.relation.ones, row_bin, column_bin, shape) > 0] = "link"
    words[count_in_bins(arrangement.relation.missing, row_bin, column_bin, shape) > 0] = "unknown"
    if without_diagonal(arrangement.relation):
        inside = (row_bin >= 0) & (column_bin >= 0)
        words[row_bin[inside], column_bin[inside]] = "self-links do not count"
    return words
