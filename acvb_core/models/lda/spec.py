"""LDA's methods, their parameters and measures: the rows of the registry."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from acvb_core.core.display import BOUND, CHANGE, HeldOutScore, Measure, ModelDisplay, write_number
from acvb_core.core.parameters import Parameter
from acvb_core.core.spec import (
    AUTO_BURN_IN,
    PRESET,
    SHARDS,
    TOLERANCE,
    MethodSpec,
    ModelSpec,
    Paper,
    Range,
    Values,
    burn_in,
    max_sweeps,
    references_to,
)

_PERPLEXITY = "perplexity %{y:,.2f}"
DISPLAY = ModelDisplay(
    (
        BOUND,
        Measure(
            "loo", "Leave-one-out perplexity (lower is better)", "loo_perplexity", 2, _PERPLEXITY, marked=True
        ),
        CHANGE,
        Measure("heldout", "Held-out perplexity (lower is better)", "heldout_perplexity", 6, _PERPLEXITY),
        Measure(
            "excess",
            "Second-order bound less the exact one",
            "bound_error",
            9,
            "%{y:,.4g} nats",
            small=True,
            methods=("cvb_exact",),
        ),
        Measure("speed", "Documents per second", "documents_per_second", 8, "%{y:,.0f} documents/s"),
        Measure("k_topics", "Topics in use", "effective_k_topics", 4, step=True, small=True),
        Measure("alpha", "Alpha (sum)", "alpha_total", 5, "alpha %{y:,.4g}", small=True),
        Measure("beta", "Beta", "beta", 7, "beta %{y:,.4g}", small=True),
    ),
    HeldOutScore("perplexity", "perplexity", write_number),
    parts=("topic", "topics"),
    to_predict="fewer topics",
    asked="k",
    scores="perplexities",
    unmarked=("pseudo_loo", "loo_perplexity"),
    unmarked_reason=(
        "Leave-one-out scores are never shaded. They favour values of alpha that are far too small, so they cannot "
        "choose between runs."
    ),
    # Streams have dark colours; an averaged one has longer dashes than its own.
    styles={
        "cvb_exact": ("#7F3B08", "8px,2px,2px,2px"),
        "sdm": ("#6A3D9A", "10px,3px"),
        "scvb0": ("#8C510A", "5px,2px"),
        "svb": ("#5B6770", "6px,5px"),
        "asdm": ("#B2182B", "18px,3px"),
        "ascvb0": ("#01665E", "12px,2px,3px,2px"),
        "asvb": ("#1A1A1A", "14px,6px"),
    },
)
#: Nothing is changed before so many documents were seen.
FROZEN = 1000.0
#: Documents for each topic that are early.
EARLY = 10
#: A window, where none is asked for, is this share of the documents …
WINDOW_SHARE = 0.05
#: … and at most so many.
MOST_IN_WINDOW = 20_000


def fit_window(n_documents: int, wanted: int, batch: int) -> int:
    """Return how many documents are in a window: whole batches. `wanted`: 0 for a share of all."""
    if not wanted:
        most = min(max(round(WINDOW_SHARE * n_documents), 1), MOST_IN_WINDOW)
        # All of about one size: a last one of a few documents would stand out of the curves.
        wanted = -(-n_documents // -(-n_documents // most))
    return -(-wanted // batch) * batch


def fit_turn(in_window: int, batch: int, parts: int) -> int:
    """Return how many documents of a window a shard reads between two merges, at most: whole batches."""
    return in_window if parts == 1 else -(-in_window // (parts * batch)) * batch


_METHODS = references_to("models.lda.online.methods")
_STREAM_PRIOR = Parameter(
    "prior", "choice", "left_to_right",
    "How alpha is learned. symmetric: fixed, the same for all topics. left_to_right: one for each topic, from how well "
    "the first words of a document predict the next. paper: one for each topic, by the gradient of the leave-one-out "
    f"likelihood (it tends to get too small). The first {FROZEN:g} documents change nothing.",
    "Prior of the topics", choices=("symmetric", "left_to_right", "paper"),
)  # fmt: skip
_PRIOR_BY_BOUND = replace(
    _STREAM_PRIOR,
    help=f"{_STREAM_PRIOR.help} bound: one for each topic, by the gradient of the lower bound.",
    choices=(*_STREAM_PRIOR.choices, "bound"),
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
_STREAM_SHARDS = Parameter(
    SHARDS, "int", 0, "Parts that the documents are cut into. Each reads its share of a window, all at once; then the "
    "topics are merged. The result depends on this number and that of the merges alone. 0: not cut.",
    "Shards", 0, 10_000,
)  # fmt: skip
_MERGES = Parameter(
    "merges", "int", 1, "How often the shards merge their topics in a window. More often: closer to a run without "
    "shards, and more bytes to send.", "Merges in a window", 1, 1000,
)  # fmt: skip
_STREAM_RUN = (_KNOWN, _WINDOW, _SCORED, _SHUFFLE, PRESET, _STREAM_SHARDS, _MERGES)


def _epochs(default: float) -> Parameter:
    return Parameter(
        "epochs", "float", default, "Passes over all documents; 0.5 reads half of them. You can extend a run "
        "afterwards.", "Epochs", 1e-6, 1e6, advanced=False,
    )  # fmt: skip


_STREAM_AVERAGED = (
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
    _STREAM_PRIOR,
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
        "word. Otherwise the steps continue as in the paper, and rare words keep much of what the first epochs took "
        "them for. This needs memory for the topics once more.", "Renew the counts in each epoch",
    ),
    Parameter(
        "early_passes", "int", 3, f"Passes over each of the first {EARLY} documents per topic at most, while the "
        "topics are still much alike; 0 takes as many as later.", "Passes in the beginning", 0, 1000,
    ),
)  # fmt: skip
_SCVB0 = (
    _STREAM_PRIOR,
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
        shared = (*size, *concentrations, *own, *_STREAM_RUN)
        given: dict[str, Any] = {
            "check": _METHODS("check_settings"),
            "count_sweeps": _METHODS("count_windows"),
        }
        build = partial(_METHODS("build_stream"), name)
        rows.append(
            MethodSpec("lda", name, label, summary, reference, (*shared, _epochs(5.0)), build,
                   None, streams=True, build_from=build, **given, tuned=tuned, paper=paper)
        )  # fmt: skip
        rows.append(
            MethodSpec("lda", f"a{name}", f"Averaged {label}",
                   f"{label}, answered by the running mean of its topics over the windows, which is certain to "
                   "converge: the run stops by itself.",
                   f"{reference}; Ishiguro, Sato, Ueda, JMLR 18 (2017), eq. 21",
                   (*shared, *_STREAM_AVERAGED, _epochs(100.0)), build,
                   "mean_change", averaged=True, streams=True, build_from=build, **given, paper=paper)
        )  # fmt: skip
    return (*rows[::2], *rows[1::2])


#: Hyper-parameters are learned first after this sweep, then every so many sweeps, and never after the last of these, so
#: that a run can settle.
LEARN_FROM, LEARN_EVERY, LEARN_UNTIL = 10, 5, 100
#: Sum of the alphas to start from. With 0.1 for any number of topics, hundreds of them would begin with so large a
#: sum that most die out, and predict worse.
START_TOTAL = 5.0
_MEMORY, _SPLIT = references_to("models.lda.memory"), references_to("evaluate.split")
_CVB, _AVERAGED = (references_to("models.lda.cvb")(f"build_{name}") for name in ("collapsed", "averaged"))
_CHECK = references_to("models.lda.hyper")("check_concentrations")
_SHARDED = references_to("models.lda.sharded")


def _schedule(train: Any, heldout: Any, method: MethodSpec, values: Values) -> tuple[int, int]:
    # The bound needs a logarithm of every responsibility, as slow to compute as a sweep.
    if method.streams:
        assert method.count_sweeps is not None
        every = values["score_every"] * method.count_sweeps(train, values, 1.0)
        return 1, max(round(every), 1)
    n_heldout = 0 if heldout is None else len(heldout.counts)
    return 10, 5 if n_heldout < 500_000 else 20


LDA = ModelSpec(
    "lda",
    "Latent Dirichlet Allocation",
    "lda",
    "a corpus: which words stand in which documents",
    references_to("models.lda.model")("LdaModel"),
    {"topics": "topics"},
    _MEMORY("memory_bytes"),
    references_to("data.corpus")("Corpus"),
    _SPLIT("hold_out_tokens"),
    _schedule,
    16,
    {"documents": "documents"},
    {},
    DISPLAY,
    references_to("evaluate.heldout")("WordScore"),
    streamed=references_to("data.disk")("DiskCorpus"),
    hold_out_documents=_SPLIT("hold_out_documents"),
    sweep_seconds=_MEMORY("sweep_seconds"),
    observed=lambda corpus: corpus.n_tokens,
    unit=("word", "words"),
    check_start=references_to("models.lda.trained")("check_start"),
    count_alike=references_to("models.lda.topics")("count_alike_topics"),
)
_SIZE = (
    Parameter("k", "int", 20, "Number of topics.", "Topics", 1, 5000, advanced=False),
)  # fmt: skip
_PRIOR = (
    Parameter(
        "alpha", "float", 0.0, "The smaller, the fewer topics a document mixes. The concentration, at the start. "
        f"0 takes {START_TOTAL:g} divided by the number of topics.",
        "Topics in a document (alpha)", 0.0, 1e3,
    ),
    Parameter(
        "beta", "float", 0.01, "The smaller, the fewer words a topic uses. The concentration, at the start.",
        "Words in a topic (beta)", 1e-4, 1e3,
    ),
)  # fmt: skip


def _hyper(choice: str = "", text: str = "") -> Parameter:
    more = (choice,) if choice else ()
    return Parameter(
        "hyper", "choice", "minka",
        "How alpha and beta are learned. minka: by Minka's fixed point, alpha for each topic and one beta, every "
        f"{LEARN_EVERY} sweeps from sweep {LEARN_FROM} until they stop changing (sweep {LEARN_UNTIL} at the latest). "
        f"{text}fixed: not learned.", "Learning of alpha and beta", choices=("minka", *more, "fixed"),
    )  # fmt: skip


_SHRINK = Parameter(
    "shrink", "float", 1e-5, "Topics with less than this share of all words are dropped; 0 keeps all.",
    "Drop topics below", 0.0, 0.1,
)  # fmt: skip
_KEPT_FROM = burn_in(
    200, 1, f"Sweeps that are not kept. Alpha and beta are learned in them, from sweep {LEARN_FROM} on."
)
_TRACK = Parameter(
    "track", "bool", True, "Also average the topic probabilities of every word in every document, for the exact "
    "change of the average and its bound. Without it a run needs about half the memory, and the change shown is "
    "that of the averaged counts.", "Average the topics of every word",
)  # fmt: skip
_INNER = Parameter(
    "inner", "int", 1, "How often each sweep updates a document's topics and its words' in turn.",
    "Passes over a document", 1, 100,
)  # fmt: skip
_SHARDS = Parameter(
    SHARDS, "int", 0, "Parts that the documents are cut into. Each is swept against the topics of the sweep before, "
    "all at once: by threads of this machine, by other processes or by a cluster. The result depends on this number "
    "alone. 0: in memory the documents are not cut; on disk a part takes 2 GB of memory at most.",
    "Shards", 0, 10_000,
)  # fmt: skip
_BY_SIZE = (
    "by the cores of this machine. The result depends on this number, not on the cores. 0: 4 where a sweep takes "
    "more than some 20 ms, else 1, all in order. Shards are not cut further."
)
_CELLS = Parameter(
    "cells", "int", 0, "Parts that documents and words are cut into. So many cells of documents and words, which share "
    f"neither, are updated at once {_BY_SIZE}", "Cells at once", 0, 64,
)  # fmt: skip
_PARTS = replace(
    _CELLS, help=f"Parts of the documents that are updated at once {_BY_SIZE}", label="Parts at once"
)
_SHORT = Parameter(
    "short", "bool", False, "Over shards, keep the topic probabilities of every word in 16 bits each in place of 32.",
    "Half the memory over shards",
)  # fmt: skip
_INIT = Parameter(
    "init", "choice", "even", "Where the run starts. even: from topics that all but agree. random: from random topics "
    "of every word in every document, as in the papers, which ends lower.", "Start", choices=("even", "random"),
)  # fmt: skip
_PLAIN = _hyper(
    "plain", "plain: the same from the expected counts as they are, which takes every tiny one for a topic that is "
    "present and makes alpha too large. ",
)  # fmt: skip
_SAMPLED = _hyper(
    "sampled",
    "sampled: one alpha for all topics and one beta are drawn after every sweep, under Gamma(1, 1) priors. ",
)
_IN_ORDER = (*_SIZE, *_PRIOR, _PLAIN, _SHRINK, PRESET)
_COLLAPSED = (*_IN_ORDER, _CELLS)
_CUT = (_SHARDS, _SHORT)
_RUN = (max_sweeps(1000), TOLERANCE)
#: The mean over all words of a corpus settles slowly; held-out words are predicted as well long before
#: (docs/measured.md).
_TOLERANCE = replace(TOLERANCE, default=1e-4)
_AVERAGED_RUN = (_TRACK, AUTO_BURN_IN, max_sweeps(5000), _TOLERANCE)
#: What TNW07 prints for both methods that it compares.
_FIXED: Values = {"alpha": 0.1, "beta": 0.1, "hyper": "fixed", "shrink": 0.0}
_LEARNED_WHY = (
    "By default alpha and beta are learned, each topic has its own alpha, and topics without words are dropped: "
    "held-out words are predicted better. "
)
_PRECISION_WHY = (
    "In both, responsibilities are in single precision and the totals of topics are those at the start of a document, "
    "which is several times faster."
)
_EXACT_PAPER = Paper("TNW07 §3.1 and §4", _FIXED, _LEARNED_WHY + _PRECISION_WHY)
_CELLS_WHY = " By default large data are updated in cells, several at once, not document by document."
_TNW07 = replace(_EXACT_PAPER, values={**_FIXED, "cells": 1}, otherwise=_EXACT_PAPER.otherwise + _CELLS_WHY)
_PLAIN_PAPER = Paper(
    "ACVB17 §5.1", {"hyper": "plain", "shrink": 0.0, "cells": 1},
    "By default Minka's fixed point weighs each expected count by the probability that the topic is present at all; "
    f"the counts as they are make alpha too large. Topics without words are dropped. {_PRECISION_WHY}{_CELLS_WHY}",
)  # fmt: skip
_VB_PAPER = Paper(
    "TNW07 §2.1 and §4", {**_FIXED, "init": "random"},
    f"{_LEARNED_WHY}The start is all but even: from random responsibilities VB ends far lower.",
)  # fmt: skip
_GIBBS_PAPER = Paper(
    "ACVB17 §5.1", {"hyper": "sampled", "burn_in": 100, "max_sweeps": 1000},
    "By default alpha and beta are learned in the burn-in by Minka's fixed point and then held: each topic has its own "
    "alpha, and 400 sweeps are enough.",
)  # fmt: skip
MODELS = (LDA,)
METHODS = (
    MethodSpec(
        "lda", "acvb0", "ACVB0",
        "Averaged CVB0: continues like CVB0 and answers with the running mean of its responsibilities, which is "
        "certain to converge.",
        "Ishiguro, Sato, Ueda, JMLR 18 (2017), eq. 21",
        (*_COLLAPSED, *_CUT, *_AVERAGED_RUN), _SHARDED("build_acvb0"), "mean_change", averaged=True,
        build_from=_SHARDED("build_acvb0"), paper=_PLAIN_PAPER, check=_SHARDED("check_settings"),
    ),
    MethodSpec(
        "lda", "acvb", "ACVB",
        "Averaged second-order CVB: the running mean of CVB's responsibilities, certain to converge.",
        "Ishiguro, Sato, Ueda, JMLR 18 (2017), eq. 21",
        (*_COLLAPSED, *_AVERAGED_RUN), partial(_AVERAGED, "second"), "mean_change", averaged=True,
        build_from=partial(_AVERAGED, "second"), paper=_PLAIN_PAPER, check=_CHECK,
    ),
    MethodSpec(
        "lda", "cvb0", "CVB0",
        "Collapsed variational Bayes with counts replaced by their means: fast and accurate, no guarantee that "
        "it settles.",
        "Asuncion, Welling, Smyth, Teh, UAI 2009",
        (*_COLLAPSED, *_CUT, *_RUN), _SHARDED("build_cvb0"), "pseudo_loo",
        build_from=_SHARDED("build_cvb0"), paper=_PLAIN_PAPER, check=_SHARDED("check_settings"),
    ),
    MethodSpec(
        "lda", "cvb", "CVB",
        "Collapsed variational Bayes with second-order terms for the uncertainty of the counts.",
        "Teh, Newman, Welling, NIPS 19 (2007), eq. 18",
        (*_COLLAPSED, *_RUN), partial(_CVB, "second"), "pseudo_loo",
        build_from=partial(_CVB, "second"), paper=_TNW07, check=_CHECK,
    ),
    MethodSpec(
        "lda", "cvb_exact", "Exact CVB",
        "Collapsed variational Bayes with exact expectations, which CVB and CVB0 approximate: a reference for small "
        "corpora, a thousand times slower.",
        "Teh, Newman, Welling, NIPS 19 (2007), eq. 15 and appendix",
        (*_IN_ORDER, *_RUN), references_to("models.lda.exact")("build_exact"), "pseudo_loo", paper=_EXACT_PAPER,
        check=_CHECK,
    ),
    MethodSpec(
        "lda", "vb", "VB",
        "Plain variational Bayes: its lower bound never falls, but the bound is looser.",
        "Blei, Ng, Jordan, JMLR 3 (2003)",
        (*_SIZE, *_PRIOR, _hyper(), _INIT, _SHRINK, PRESET, _INNER, _PARTS, _SHARDS, *_RUN), _SHARDED("build_vb"),
        "lower_bound", paper=_VB_PAPER, check=_SHARDED("check_settings"),
    ),
    MethodSpec(
        "lda", "gibbs", "Gibbs",
        "Collapsed Gibbs sampling: samples the topic of every token, answers with the mean of the kept samples, "
        "runs for a fixed number of sweeps.",
        "Griffiths, Steyvers, PNAS 101 (2004); Teh, Newman, Welling, NIPS 19 (2007), eq. 8",
        (*_SIZE, *_PRIOR, _SAMPLED, PRESET, _KEPT_FROM, max_sweeps(400)),
        references_to("models.lda.gibbs")("build_gibbs"), None, sampled=True, paper=_GIBBS_PAPER, check=_CHECK,
    ),
    *stream_methods(_SIZE, _PRIOR),
)  # fmt: skip
