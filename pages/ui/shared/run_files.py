"""Files that every run has, as offers to download."""

from __future__ import annotations

import io

from acvb_core.engine.result import Result
from acvb_core.store import export
from pages.ui.shared.picking import FileOffer


def offer_run(result: Result) -> FileOffer:
    """Return the file of the run itself: data, settings and how it went."""
    return FileOffer("The run", "run.json", "application/json", lambda: export.run_json(result))


def offer_arrays(result: Result) -> FileOffer:
    """Return the file of the posterior's arrays."""

    def contents() -> bytes:
        out = io.BytesIO()
        export.write_posterior(result, out)
        return out.getvalue()

    return FileOffer("Arrays", "posterior.npz", "application/octet-stream", contents)
