"""Claims that several tables of the papers on the IRM make."""

from __future__ import annotations

from acvb_core.core.papers import Claim


def claim_convergence(method: str, label: str) -> Claim:
    """Return what acvb17 says of the sweeps that an averaged method needs (§4.2): nine of ten runs converge in time."""
    text = f"{label} converges long before the 200,000 sweeps of the worst case (here: nine runs of ten within 5,000)"
    return Claim(text, method, score="unsettled", at_most=0.1, needs_convergence=True)
