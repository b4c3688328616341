"""Relations of the papers on the IRM by Ishiguro, Sato and Ueda, and the settings that their tables share."""

from __future__ import annotations

from dataclasses import replace

from acvb_core.core.papers import PaperData, PaperSource

MODEL = "irm"
#: Not the paper's table of mails among 151 people, but that of Priebe et al.; who wrote none and got none counts too.
_PEOPLE = 149


def _sample(name: str, real: str) -> PaperSource:
    return PaperSource(name, is_file=False, real=real)


def _mails(month: str, name: str) -> PaperSource:
    return PaperSource(month, options={"domains": "two"}, real=f"Enron mails of {name}", n_objects=_PEOPLE)


SYNTHETIC = (
    PaperData("Synth1", (_sample("synth1", "Planted 4 x 5 blocks"),)),
    PaperData("Synth2", (_sample("synth2", "Planted 7 x 6 blocks"),), is_large=True),
)
REAL = (
    PaperData(
        "Enron Jun.",
        (
            _mails("enron_2001-06.csv", "June 2001 (Priebe et al.)"),
            _sample("les_miserables", "Meetings in Les Misérables"),
        ),
    ),
    PaperData("Enron Aug.", (_mails("enron_2001-08.csv", "August 2001 (Priebe et al.)"),)),
    PaperData("Enron Oct."),
    PaperData("Enron Dec."),
    PaperData(
        "Lastfm UserXUser",
        (PaperSource("lastfm_user_user.csv", options={"shape": (1892, 1892), "domains": "two"}),),
        is_large=True,
    ),
    PaperData(
        "Lastfm ArtistXTag",
        (
            PaperSource("package_debtag_12sections.csv", real="Debian's packages and their tags"),
            _sample("debtag_games", "Debian's games and their tags"),
        ),
        is_large=True,
    ),
)

AS_PRINTED = {"preset": "paper"}
#: Until the run converges, within a limit that is ours.
CONVERGED = {**AS_PRINTED, "max_sweeps": 1_000}
LIMIT = "Here a run that has not converged ends after 1,000 sweeps."
GIBBS = {"gibbs": {"max_sweeps": 3000, "burn_in": 1500}}
#: All sweeps are made: no change is smaller.
ALL_SWEEPS = {"tol": 1e-12}
QUICK = {"max_sweeps": 60, "burn_in": 20}
PRIORS = (
    "The paper reports the best of several priors at the start; here there is one, which is learned. Its mails are "
    "among 151 people; these are among 149, who count also where they neither wrote nor got any."
)

_GENERATED = {"k_rows": 20, "k_cols": 30, "seed": 1, "skew": 1.0}


def _list_generators(n_rows: int, n_cols: int, n_ones: int) -> tuple[PaperSource, ...]:
    """Return a source of a relation of a size, with uneven degrees as real ones have."""
    size = {"n_rows": n_rows, "n_cols": n_cols, "n_ones": n_ones}
    text = f"Planted blocks with {n_ones:,} links"
    return (PaperSource("large_relation", is_file=False, options={**size, **_GENERATED}, real=text),)


LARGE = (
    PaperData("Lastfm UserXUser", _list_generators(1_892, 1_892, 21_512), is_large=True),
    PaperData("Lastfm ArtistXTag", _list_generators(6_099, 1_088, 23_253), is_large=True),
    PaperData("Movielens-10M", _list_generators(10_681, 69_878, 10_000_054), is_huge=True),
    PaperData("Netflix-rate1", _list_generators(480_189, 17_770, 4_266_479), is_huge=True),
    PaperData("Netflix-rate5", _list_generators(480_189, 17_770, 23_168_232), is_huge=True),
)
#: Lastfm's friends, or a small network in their place.
FRIENDS = replace(REAL[4], sources=(*REAL[4].sources, *REAL[0].sources[1:]))
