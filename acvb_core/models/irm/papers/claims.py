"""Claims that several tables of the papers on the IRM make."""

from __future__ import annotations

from acvb_core.core.papers import Claim

#: Nats an entry within which methods predict alike.
ALIKE = 0.001
WHY_ALIKE = "under half the difference of CVB and VB in the paper's Table 5, 0.0023 in the median"
#: What predicts for Gibbs sampling.
SAMPLES = "Gibbs sampling is the mean of 1,500 samples"


#: What Figure 7 of acvb17 shows of Gibbs sampling; the last sample kept before the mean is taken.
ONE_SAMPLE = Claim(
    "ACVB0 predicts better than one sample of collapsed Gibbs sampling",
    "acvb0",
    ("gibbs",),
    score="single_heldout_log_likelihood",
    place="Figure 7",
    why="the sample after 1,450 sweeps",
)


def claim_convergence(method: str, label: str) -> Claim:
    """Return what acvb17 says of the sweeps that an averaged method needs (§4.2): nine of ten runs converge in time."""
    text = f"{label} converges long before the 200,000 sweeps of the worst case (here: nine runs of ten within 5,000)"
    return Claim(text, method, score="unsettled", at_most=0.1, needs_convergence=True)


def claim_no_rest(method: str) -> Claim:
    """Return what acvb17 says of a method that is not averaged; that the average converges is proved (Lemma 1)."""
    name = method.partition(":")[0].upper()
    return Claim(
        f"A{name} converges for certain where {name} does not "
        f"(here: more than one run of {name} in twenty still moves after 5,000 sweeps)",
        method,
        score="moving",
        at_least=0.05,
        place="Table 6",
        why="moves: the responsibilities of an object change by more than 0.001 in a sweep (L1)",
    )
