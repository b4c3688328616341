"""The figures of a result by name, as the Blocks page draws them; those of links, with rates for strengths."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from acvb_core.engine.result import Result
from acvb_core.models.irm.figures import plots as irm
from acvb_core.models.irm.figures.blocks import pair_name
from acvb_core.models.irm.figures.plots import list_reported as list_reported
from acvb_core.models.irm.figures.summaries import ROOMY, block_map
from acvb_core.models.irm.scores import block_shape, is_mirrored, one_clustering, shown_strengths, sides
from acvb_core.views.parts import name_ticks
from acvb_core.views.theme import PAPER, Figure

#: Less than expected, as expected and more: Okabe and Ito's blue and vermilion, white between.
_SCALE = [[0, "#0072B2"], [0.5, PAPER], [1, "#D55E00"]]
#: Powers of two at the ends of the scale: the wider one if many blocks are beyond the other.
_ENDS, _BEYOND = (2.0, 4.0), 0.25


def list_plots(result: Result) -> dict[str, Callable[[], Figure]]:
    """Return what draws each figure, by name; "groups" and "nodes" are of networks."""
    return irm.list_plots(result) | {"strengths": lambda: strength_figure(result)}


def strength_figure(result: Result, *, height: int = 460, narrow: bool = False) -> Figure:
    """Return the ratio of every block's count to the expected one as a heat map, on a logarithmic scale around 1.

    `narrow`: for a window as narrow as that of a phone.
    """
    shape = block_shape(result.posterior)
    shown = shown_strengths(result.blocks, shape)
    power = np.log2(np.maximum(shown.mean, 1e-300))
    end = _ENDS[1] if (np.abs(power) > _ENDS[0]).mean() > _BEYOND else _ENDS[0]
    one, undirected = one_clustering(result.posterior), is_mirrored(result.prepared.data)
    down, across = (result.names[domain] for domain in sides(result.posterior))
    hover = [
        [
            "<br>".join(
                [f"<b>{pair_name(k, m, one, undirected, (down, across))}</b>", *shown.describe_ratio(k, m)]
            )
            for m in range(shape[1])
        ]
        for k in range(shape[0])
    ]
    trace = {
        "z": np.clip(power, -end, end),
        "ends": (-end, end),
        "scale": _SCALE,
        "bar": "times the expected count",
        "text": [[_in_cell(ratio, shape[1] <= ROOMY) for ratio in line] for line in shown.mean.tolist()],
        "hovertext": hover,
    }
    texts = [
        f"1/{2**end:g} or less",
        f"1/{2 ** (end / 2):g}",
        "1",
        f"{2 ** (end / 2):g}",
        f"{2**end:g} or more",
    ]
    ticks = name_ticks([-end, -end / 2, 0.0, end / 2, end], texts)
    return block_map(result, trace, ticks, height=height, narrow=narrow)


def _in_cell(ratio: float, roomy: bool) -> str:
    """Return a ratio with two digits, as narrow as the cells ask for."""
    if ratio >= 0.95:
        return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"
    return f"{ratio:.2f}" if roomy else f"{ratio:.2f}".removeprefix("0")
