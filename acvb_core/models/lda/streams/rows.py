"""The registry's rows of the methods for LDA that stream."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from acvb_core.core.parameters import Parameter
from acvb_core.core.references import references_to
from acvb_core.core.rows import PRESET, SHARDS, TOLERANCE, MethodSpec, Paper, Range
from acvb_core.models.lda.streams.limits import EARLY, FROZEN, MOST_IN_WINDOW, WINDOW_SHARE

_METHODS = references_to("models.lda.streams.building")

_PRIOR = Parameter(
    "prior", "choice", "left_to_right",
    "How alpha is learned. symmetric: fixed, the same for all topics. left_to_right: one for each topic, from how well "
    "the first words of a document predict the next. paper: one for each topic, by the gradient of the leave-one-out "
    f"likelihood (it tends to get too small). The first {FROZEN:g} documents change nothing.",
    "Prior of the topics", choices=("symmetric", "left_to_right", "paper"),
)  # fmt: skip

_PRIOR_BY_BOUND = replace(
    _PRIOR,
    help=f"{_PRIOR.help} bound: one for each topic, by the gradient of the lower bound.",
    choices=(*_PRIOR.choices, "bound"),
)

_KNOWN = Parameter(
    "totals", "choice", "corpus",
    "corpus: use the number of documents and words of the whole corpus from the start. running: use only those met so "
    "far, as if nobody knew how long the stream is.", "Size of the stream", choices=("corpus", "running"),
)  # fmt: skip

_WINDOW = Parameter(
    "window", "int", 0,
    f"Documents between two points of the curves. 0 takes {WINDOW_SHARE:.0%} of all, {MOST_IN_WINDOW:,} at "
    "most.", "Documents in a window", 0, 10_000_000,
)  # fmt: skip

_SCORED = Parameter(
    "score_every", "float", 0.25, "Passes over all documents between two scores on held-out ones.",
    "Epochs between scores", 1e-6, 1e6,
)  # fmt: skip

_SHUFFLE = Parameter(
    "shuffle", "bool", True,
    "Read the documents in a new random order in each epoch; otherwise in the order of the file.",
    "Random order",
)  # fmt: skip

_SHARDS = Parameter(
    SHARDS, "int", 0, "Parts that the documents are cut into. Each reads its share of a window, all at once; then the "
    "topics are merged. The result depends on this number and that of the merges alone. 0: not cut.",
    "Shards", 0, 10_000,
)  # fmt: skip

_MERGES = Parameter(
    "merges", "int", 1, "How often the shards merge their topics in a window. More often: closer to a run without "
    "shards, and more bytes to send.", "Merges in a window", 1, 1000,
)  # fmt: skip

_RUN = (_KNOWN, _WINDOW, _SCORED, _SHUFFLE, PRESET, _SHARDS, _MERGES)


def _epochs(default: float) -> Parameter:
    return Parameter(
        "epochs", "float", default, "Passes over all documents; 0.5 reads half of them. You can extend a run "
        "afterwards.", "Epochs", 1e-6, 1e6, advanced=False,
    )  # fmt: skip


_AVERAGED = (
    Parameter(
        "burn_in_epochs", "float", 1.0, "Epochs before averaging starts.", "First epochs left out (burn-in)", 0.0,
        1e6,
    ),
    replace(TOLERANCE, default=1e-3),
)  # fmt: skip

_BATCH = Parameter(
    "batch", "int", 100, "Documents that change the topics together.", "Documents in a minibatch", 1,
    1_000_000,
)  # fmt: skip


def _step(name: str, what: str, label: str, default: float, low: float, high: float) -> Parameter:
    return Parameter(name, "float", default, what, label, low, high)


_SDM = (
    _PRIOR,
    Parameter(
        "batch", "int", 1, "Documents whose topics are inferred before any of them changes the topics of words. More "
        "than one only to reproduce the paper's experiments.", "Documents in a minibatch", 1, 1_000_000,
    ),
    Parameter(
        "passes", "int", 5, "How often the topics of a document's words are updated. One is too few; ten are no better "
        "than five.", "Passes over a document", 1, 1000,
    ),
    _step(
        "step_power", "The counts of a word met for the t-th time move by t^-power.", "Power of the step", 0.85, 0.0,
        1.0,
    ),
    Parameter(
        "renew", "bool", True, "From the second epoch on, new counts replace those of the epoch before, word by "
        "word. Otherwise the steps go on as in the paper, and rare words keep much of what the first epochs took them "
        "for. This needs memory for the topics once more.", "Renew the counts in each epoch",
    ),
    Parameter(
        "early_passes", "int", 3, f"Passes over each of the first {EARLY} documents per topic at most, while the "
        "topics are still much alike; 0 takes as many as later.", "Passes in the beginning", 0, 1000,
    ),
)  # fmt: skip

_SCVB0 = (
    _PRIOR,
    _BATCH,
    _step("step_scale", "The t-th minibatch moves the topics by scale / (offset + t)^power.", "Scale of the step",
          1.0, 1e-6, 1e6),
    _step("step_offset", "See the scale of the step.", "Offset of the step", 5.0, 0.0, 1e9),
    _step("step_power", "See the scale of the step.", "Power of the step", 0.8, 0.0, 1.0),
    _step("inner_scale", "The t-th word of a document moves its topics by scale / (offset + t)^power.",
          "Scale within a document", 1.0, 1e-6, 1e6),
    _step("inner_offset", "See the scale within a document.", "Offset within a document", 1.0, 0.0, 1e9),
    _step("inner_power", "See the scale within a document.", "Power within a document", 0.5, 0.0, 1.0),
    Parameter("passes", "int", 5, "Passes over a document before it counts.",
              "Passes before it counts", 0, 1000),
)  # fmt: skip

_SVB = (
    _PRIOR_BY_BOUND,
    _BATCH,
    _step("step_scale", "The t-th minibatch moves the topics by scale / (offset + t)^power.", "Scale of the step",
          1.0, 1e-6, 1e6),
    _step("step_offset", "See the scale of the step.", "Offset of the step", 10.0, 0.0, 1e9),
    _step("step_power", "See the scale of the step.", "Power of the step", 0.8, 0.0, 1.0),
    Parameter("inner", "int", 100, "How often a document's topics and its words' are updated in turn, at most.",
              "Passes over a document", 1, 1000),
)  # fmt: skip

#: What SN15 tunes of both methods: the steps, the concentrations and the size of a minibatch.
_TUNED = (
    Range("step_scale", 0.1, 100.0, log=True), Range("step_offset", 1.0, 1e4, log=True),
    Range("step_power", 0.5, 1.0), Range("alpha", 0.001, 1.0, log=True), Range("beta", 0.001, 1.0, log=True),
    Range("batch", 10, 1000, log=True),
)  # fmt: skip
_TUNED_SCVB0 = (
    *_TUNED,
    Range("inner_scale", 0.1, 10.0, log=True), Range("inner_offset", 1.0, 1000.0, log=True),
    Range("inner_power", 0.5, 1.0),
)  # fmt: skip


_LEARNED = "By default each topic has an alpha of its own, learned left to right. "
_SDM_PAPER = Paper(
    "SN15 §7 and §9 (SDM; with prior symmetric SDM-S)",
    {
        "alpha": 0.01, "beta": 0.01, "prior": "paper", "batch": 1000, "passes": 5, "step_power": 0.7, "renew": False,
        "early_passes": 0,
    },
    f"{_LEARNED}The paper's gradient makes alpha too small. From the second epoch on, counts are renewed word by word, "
    "because steps would leave rare words what the first epochs took them for. The first documents have fewer passes. "
    "The topics change after every document, as in the paper's algorithm; its experiments take 1,000 at a time, to be "
    "comparable.",
)  # fmt: skip
_SCVB0_PAPER = Paper(
    "FBDSW13, Algorithm 1, steps as in SN15 §9",
    {
        "alpha": 0.01, "beta": 0.01, "prior": "symmetric", "batch": 100, "step_scale": 10.0, "step_offset": 1000.0,
        "step_power": 0.9, "inner_scale": 1.0, "inner_offset": 10.0, "inner_power": 0.9, "passes": 5,
    },
    f"{_LEARNED}The steps are larger: the printed ones are meant for millions of documents, and after one epoch of "
    "some thousand the topics are still near their start.",
)  # fmt: skip
_SVB_PAPER = Paper(
    "Hoffman, Blei, Bach, NIPS 23 (2010), §4; HBWP13, Fig. 6; alpha as in SN15 §9",
    {
        "alpha": 0.01, "beta": 0.01, "prior": "bound", "batch": 100, "step_scale": 1.0, "step_offset": 1024.0,
        "step_power": 0.7,
    },
    f"{_LEARNED}The first steps are larger: the printed ones are meant for millions of documents.",
)  # fmt: skip


def stream_methods(
    size: tuple[Parameter, ...],
    concentrations: tuple[Parameter, ...],
) -> tuple[MethodSpec, ...]:
    """Return the rows: each method, and the same averaged.

    `size`, `concentrations`: what these methods share with the others.
    """
    rows: list[MethodSpec] = []
    for name, label, summary, reference, own, tuned, paper in (
        ("sdm", "SDM",
         "Stochastic divergence minimisation: CVB0 for a stream, word by word, close to what CVB0 finds in one or a "
         "few epochs, with memory for the topics only.",
         "Sato, Nakagawa, KDD 2015", _SDM, (Range("step_power", 0.5, 1.0),), _SDM_PAPER),
        ("scvb0", "SCVB0",
         "Stochastic CVB0: running means over minibatches, within each document and over the corpus.",
         "Foulds, Boyles, DuBois, Smyth, Welling, KDD 2013", _SCVB0, _TUNED_SCVB0, _SCVB0_PAPER),
        ("svb", "SVB",
         "Stochastic variational Bayes: natural gradient steps by minibatches; the best known, and looser.",
         "Hoffman, Blei, Wang, Paisley, JMLR 14 (2013)", _SVB, _TUNED, _SVB_PAPER),
    ):  # fmt: skip
        shared = (*size, *concentrations, *own, *_RUN)
        given: dict[str, Any] = {
            "check": _METHODS("check_settings"),
            "count_sweeps": _METHODS("count_windows"),
        }
        build, go_on = (partial(_METHODS(way), name) for way in ("build_stream", "continue_stream"))
        rows.append(
            MethodSpec("lda", name, label, summary, reference, (*shared, _epochs(5.0)), build,
                   None, streams=True, build_from=go_on, **given, tuned=tuned, paper=paper)
        )  # fmt: skip
        rows.append(
            MethodSpec("lda", f"a{name}", f"Averaged {label}",
                   f"{label}, answered by the running mean of its topics over the windows, which is certain to "
                   "converge: the run stops by itself.",
                   f"{reference}; Ishiguro, Sato, Ueda, JMLR 18 (2017), eq. 21",
                   (*shared, *_AVERAGED, _epochs(100.0)), build,
                   "mean_change", averaged=True, streams=True, build_from=go_on, **given, paper=paper)
        )  # fmt: skip
    return (*rows[::2], *rows[1::2])
