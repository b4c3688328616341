"""Tables as CSV that a spreadsheet does not run."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


# Spaces before the sign do not keep a spreadsheet from running it; some take the wide forms for the signs themselves.
_FORMULA = re.compile(r"[\s\x00-\x1f]*[=+\-@＝＋－＠]|[\t\r\n]")


def csv_text(frame: pd.DataFrame) -> str:
    """Return a frame as CSV, without its index; text that a spreadsheet would run is guarded by an apostrophe."""
    import pandas as pd

    guarded = frame.copy()
    texts = [name for name in guarded.columns if not pd.api.types.is_numeric_dtype(guarded[name])]
    for name in texts:
        guarded[name] = [_guard_cell(cell) for cell in guarded[name]]
    guarded.columns = [_guard_cell(name) for name in guarded.columns]
    out = io.StringIO()
    # A lone carriage return ends a line for many readers, but the writer itself would not quote it.
    odd = any(isinstance(cell, str) and "\r" in cell for name in texts for cell in frame[name])
    quoting = csv.QUOTE_NONNUMERIC if odd else csv.QUOTE_MINIMAL
    guarded.to_csv(out, index=False, lineterminator="\n", quoting=quoting)
    return out.getvalue()


def _guard_cell(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell
