"""One look: colours and dashes fixed, curves thinned without losing a spike, names shown as they are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from acvb_core.views import theme
from acvb_core.views.parts import decimate
from tests.loops import for_each


@given(st.integers(1, 5000), st.integers(0, 1000), st.sampled_from([10, 50, 400]))
def test_decimation_keeps_the_ends_and_the_extremes(n: int, seed: int, limit: int) -> None:
    y = np.random.default_rng(seed).normal(size=n)
    kept = decimate(y, limit)
    assert len(kept) <= max(limit, 4)
    assert (np.diff(kept) > 0).all()
    assert kept[0] == 0
    assert kept[-1] == len(y) - 1
    assert y[kept].min() == y.min()
    assert y[kept].max() == y.max()


@for_each("text", ["<b>x</b>", "a & b", "%{y}", "$x$", "&lt;"])
def test_names_lose_what_plotly_would_read_as_markup(text: str) -> None:
    safe = theme.escape(text)
    assert not set(safe) & set("<>%$")
    assert "&" not in safe.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "").replace(
        "&#37;", ""
    ).replace("&#36;", "")


@for_each(
    "name, shown",
    [
        ("plain \u00e9\u0301 \U0001f600", "plain \u00e9\u0301 \U0001f600"),
        ("\u202eturned", "turned"),
        ("a\u2067b\u2069\u2069", "ab"),
        ("\u0645\u0631\u062d\u0628\u0627", "\u2068\u0645\u0631\u062d\u0628\u0627\u2069"),
        ("\u202e\u05d0", "\u2068\u05d0\u2069"),
    ],
)
def test_a_name_does_not_turn_its_neighbours(name: str, shown: str) -> None:
    assert theme.isolate(name) == shown
    assert theme.escape(name) == shown


@given(st.integers(2, 40), st.integers(0, 1000))
def test_merging_parts_recolours_only_what_is_merged(n_own: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = tuple((number,) for number in range(1, n_own + 1))
    assert list(theme.part_colours(parts)) == [theme.cluster_colour(number) for number in range(1, n_own + 1)]
    while len(parts) > 1:
        one, other = sorted(rng.choice(len(parts), 2, replace=False).tolist())
        rest = [part for at, part in enumerate(parts) if at not in (one, other)]
        merged = tuple(sorted(parts[one] + parts[other]))
        parts = (*(rest[at] for at in rng.permutation(len(rest)).tolist()), merged)
        after = dict(zip(parts, theme.part_colours(parts), strict=True))
        assert len(parts) > 16 or len(set(after.values())) == len(parts)
        # Of up to 16, only those that would share a colour with a larger one get another.
        firm = [part for part in parts if part[0] <= 16 or len(parts) > 16]
        assert [after[part] for part in firm] == [theme.cluster_colour(part[0]) for part in firm]
