"""Numbers are written one way."""

from __future__ import annotations

from acvb_core.core.display import write_number
from tests.loops import for_each


@for_each(
    "value, text",
    [
        (1224.3, "1,224"),
        (-230_000.4, "-230,000"),
        (999.96, "1,000"),
        (-0.0376412, "-0.03764"),
        (-0.0, "0"),
        (0.0001234567, "0.0001235"),
        (float("nan"), "nan"),
    ],
)
def test_four_significant_digits(value: float, text: str) -> None:
    assert write_number(value) == text
