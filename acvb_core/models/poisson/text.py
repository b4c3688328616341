"""The command line's words for a run of blocks of counts, of one domain or two."""

from __future__ import annotations

from acvb_core.engine.result import Result
from acvb_core.models.irm import text as irm
from acvb_core.models.irm.text import held_out as held_out
from acvb_core.models.irm.text import lines as lines
from acvb_core.models.irm.text import write_further_files as write_further_files
from acvb_core.models.poisson.methods import CountChoice


def facts(result: Result) -> list[tuple[str, str]]:
    """Return (name, text) of the agreement with known labels, the held-out scores, and the choice of the degrees."""
    rows = irm.facts(result)
    if result.snapshot.heldout is not None:
        each = result.snapshot.heldout.count_log_likelihood
        rows.append(("held-out counts", f"{each:.4f} nats each"))
    choice = CountChoice.of_posterior(result.posterior)
    rows.append(("activity", choice.describe()))
    return rows if choice.unit == 1.0 else [*rows, ("unit of the counts", f"{choice.unit:.4g}")]
