"""Numbers are written one way."""

from __future__ import annotations

from acvb_core.core.display import write_number


def test_four_significant_digits() -> None:
    values = (-230_000.4, 999.96, -0.0376412, -0.0, 0.0001234567, float("nan"))
    assert [write_number(value) for value in values] == [
        "-230,000", "1,000", "-0.03764", "0", "0.0001235", "nan",
    ]  # fmt: skip
