"""How often a live part is drawn."""

from __future__ import annotations

import pytest

from pages.ui.shared.refresh import REST, choose_interval


@pytest.mark.parametrize(
    ("recent", "seconds"),
    [
        ([], 0.5),
        ([9.0, 9.0], 0.5),  # the first drawings say little
        ([0.01] * 10, 0.5),
        ([1.0] * 9 + [60.0], REST),
    ],
)
def test_the_interval_follows_how_long_drawing_takes(recent: list[float], seconds: float) -> None:
    assert choose_interval(0.5, recent) == seconds
