"""Samples that are tables of numbers: where each comes from and what is told of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from acvb_core.data.report import Fact, ReadReport
from acvb_core.data.synthetic_features import PlantedFeatures, block_images, planted_features
from acvb_core.data.table import Table

TableAndReport = tuple[Table, ReadReport]

#: Side of the digits' pictures.
_DIGITS_SIDE = 8


def digits() -> TableAndReport:
    """Return the handwritten digits of the installed scikit-learn; pixels that never change are left out."""
    # Both take a while to import: only who reads the digits waits for them.
    import pandas as pd
    from sklearn.datasets import load_digits

    from acvb_core.data.tables.image import pixel_names
    from acvb_core.data.tables.readers import load_table

    found = load_digits()
    frame = pd.DataFrame(found.data, columns=pixel_names(_DIGITS_SIDE, _DIGITS_SIDE))
    frame["digit"] = found.target
    loaded = load_table(
        frame,
        name="digits",
        label_column="digit",
        constants="leave-out",
        image=(_DIGITS_SIDE, _DIGITS_SIDE),
    )
    return loaded.table, loaded.report


def from_file(file: Path, name: str) -> TableAndReport:
    """Return the table of a sample's file."""
    from acvb_core.data.tables.readers import load_table

    loaded = load_table(file, name=name)
    return loaded.table, loaded.report


def drawn(draw: Callable[[], PlantedFeatures]) -> TableAndReport:
    """Return a table that is drawn when it is asked for."""
    found = draw()
    told = f"Drawn from {found.n_features} planted features."
    facts = [
        Fact("features", found.n_features, told),
        Fact("rows", found.table.n_rows, f"{found.table.n_rows:,} rows."),
        Fact("columns", found.table.n_columns, f"{found.table.n_columns:,} columns of numbers."),
        Fact("missing", found.table.n_missing, "No cell is missing."),
    ]
    return found.table, ReadReport(found.table.name, tuple(facts))


def blocks() -> PlantedFeatures:
    """Return 1,000 pictures of the four blocks, with noise of standard deviation 0.3."""
    return block_images(1_000, noise=0.3, seed=0, name="block_images")


def planted() -> PlantedFeatures:
    """Return a set like the artificial ones of Hayashi and Fujimaki: 500 rows, 30 columns, 5 features, noise 1."""
    return planted_features(500, 30, 5, share=0.5, noise=1.0, seed=0, name="planted_features")
