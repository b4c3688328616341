"""Tables on disk: each is stored once, under a key of everything it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import DataError
from acvb_core.data.table import Table
from acvb_core.data.tables.image import Image
from acvb_core.store.files import (
    DAMAGE,
    Arrays,
    damage_error,
    from_labels_bytes,
    from_text_bytes,
    labels_bytes,
    read_arrays,
    text_bytes,
    texts_key,
    write_arrays,
)

VERSION = 1


def table_key(table: Table) -> str:
    """Return a SHA-256 (hex) of the cells, the names, the groups, the picture and how methods take the columns."""
    parts = _texts(table)
    for name, array in _picture(table).items():
        parts[name] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return texts_key(table.fingerprint, parts)


def _texts(table: Table) -> dict[str, NDArray[np.uint8]]:
    image = table.image
    about = {
        "name": table.name,
        "standardise": bool(table.standardise),
        "image": None if image is None else [int(image.height), int(image.width)],
    }
    return {
        "about": text_bytes(about),
        "rows": labels_bytes(table.rows),
        "columns": labels_bytes(table.columns),
        # What is not known is null, not left out: a table without groups must not have the key of one with others.
        "labels": text_bytes(None) if table.labels is None else labels_bytes(table.labels),
    }


def _picture(table: Table) -> Arrays:
    if table.image is None:
        return {}
    return {
        "image_pixels": np.asarray(table.image.pixels, dtype=np.int64),
        "image_background": np.asarray(table.image.background, dtype=np.float64),
    }


def write_table(path: Path, table: Table) -> None:
    """Write a table to an npz file.

    Raises
    ------
    StoreError
        It cannot be written.
    """
    write_arrays(path, {"values": table.values, **_texts(table), **_picture(table)}, version=VERSION)


def read_table(path: Path) -> Table:
    """Return the table that `write_table` wrote.

    Raises
    ------
    StoreError
        The file is gone, damaged, or newer than this program.
    """
    arrays = read_arrays(path, version=VERSION)
    try:
        about, values = from_text_bytes(arrays["about"]), arrays["values"]
        labels, standardise = from_text_bytes(arrays["labels"]), about["standardise"]
        if values.dtype != np.float64 or not isinstance(standardise, bool):
            raise ValueError(f"no cells, or no scale: {values.dtype}, {standardise!r}")
        return Table.build(
            values,
            rows=from_labels_bytes(arrays["rows"]),
            columns=from_labels_bytes(arrays["columns"]),
            name=str(about["name"]),
            standardise=standardise,
            labels=labels,
            image=_image(about["image"], arrays),
        )
    except (*DAMAGE, DataError) as error:
        raise damage_error(path) from error


def _image(size: Any, arrays: Arrays) -> Image | None:
    if size is None:
        return None
    height, width = (int(side) for side in size)
    pixels, background = arrays["image_pixels"], arrays["image_background"]
    if pixels.dtype != np.int64 or background.dtype != np.float64:
        raise ValueError(f"no picture: {pixels.dtype}, {background.dtype}")
    return Image(height, width, pixels, background)
