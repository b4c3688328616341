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
_MEASURES = (
    BOUND,
    Measure("loo", "Leave-one-out perplexity (lower is better)", "loo_perplexity", 2, _PERPLEXITY, marked=True),
    CHANGE,
    Measure("heldout", "Held-out perplexity (lower is better)", "heldout_perplexity", 6, _PERPLEXITY),
    Measure("excess", "Second-order bound less the exact one", "bound_error", 9, "%{y:,.4g} nats", small=True,
            methods=("cvb_exact",)),
    Measure("speed", "Documents per second", "documents_per_second", 8, "%{y:,.0f} documents/s"),
    Measure("k_topics", "Topics in use", "effective_k_topics", 4, step=True, small=True),
    Measure("alpha", "Alpha (sum)", "alpha_total", 5, "alpha %{y:,.4g}", small=True),
    Measure("beta", "Beta", "beta", 7, "beta %{y:,.4g}", small=True),
)  # fmt: skip
DISPLAY = ModelDisplay(
    _MEASURES,
    HeldOutScore("perplexity", "perplexity", write_number),
    parts=("topic", "topics"),
    to_predict="fewer topics",
    question="What are the documents about?",
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
#: Alpha is not learned before this number of documents.
FROZEN = 1000.0
#: Number of documents per topic that count as the beginning of a stream.
EARLY = 10
#: The default window is this share of the documents …
WINDOW_SHARE = 0.05
#: … and at most this number.
MOST_IN_WINDOW = 20_000


def fit_window(n_documents: int, wanted: int, batch: int) -> int:
    """Return the number of documents in a window, in whole minibatches; `wanted`: 0 for a share of all documents."""
    if not wanted:
        most = min(max(round(WINDOW_SHARE * n_documents), 1), MOST_IN_WINDOW)
        # Windows of about equal size: a last one of a few documents would be an outlier of the curves.
        wanted = -(-n_documents // -(-n_documents // most))
    return -(-wanted // batch) * batch


def fit_turn(in_window: int, batch: int, parts: int) -> int:
    """Return the most documents of a window that a shard reads between two merges, in whole minibatches."""
    return in_window if parts == 1 else -(-in_window // (parts * batch)) * batch


_METHODS = references_to("models.lda.online.methods")
_STREAM_PRIOR = Parameter(
    "prior", "choice", "left_to_right",
    "How alpha is learned. symmetric: fixed, equal for all topics. left_to_right: one for each topic, from the "
    "prediction of each word of a document by the words before it. paper: one for each topic, by the gradient of the "
    f"leave-one-out likelihood (it tends to be too small). The first {FROZEN:g} documents change nothing.",
    "Prior of the topics", choices=("symmetric", "left_to_right", "paper"),
)  # fmt: skip
_STREAM_RUN = (
    Parameter(
        "totals", "choice", "corpus",
        "corpus: use the number of documents and words of the whole corpus from the start. running: use only those "
        "read so far, as for a stream of unknown length.", "Size of the stream", choices=("corpus", "running"),
    ),
    Parameter(
        "window", "int", 0,
        f"Documents between two points of the curves. 0: {WINDOW_SHARE:.0%} of all, at most {MOST_IN_WINDOW:,}.",
        "Documents in a window", 0, 10_000_000,
    ),
    Parameter(
        "score_every", "float", 0.25, "Epochs between two scores on held-out documents.", "Epochs between scores", 1e-6,
        1e6,
    ),
    Parameter(
        "shuffle", "bool", True, "Read the documents in a new random order in each epoch, or in the order of the file.",
        "Random order",
    ),
    PRESET,
    Parameter(
        SHARDS, "int", 0, "Number of parts of the documents. All parts read their share of a window at the same time; "
        "then their topics are merged. The result depends only on the numbers of parts and merges. 0: not cut.",
        "Shards", 0, 10_000,
    ),
    Parameter(
        "merges", "int", 1, "Merges of the shards' topics in a window. More merges are closer to a run without shards, "
        "and send more bytes.", "Merges in a window", 1, 1000,
    ),
)  # fmt: skip


def _epochs(default: float) -> Parameter:
    text = "Passes over all documents; 0.5 reads half of them. You can extend a run later."
    return Parameter("epochs", "float", default, text, "Epochs", 1e-6, 1e6, advanced=False)


_STREAM_AVERAGED = (
    Parameter(
        "burn_in_epochs", "float", 1.0, "Epochs before averaging starts.", "First epochs left out (burn-in)", 0.0, 1e6,
    ),
    replace(TOLERANCE, default=1e-3),
)  # fmt: skip


def _batch(default: int, text: str) -> Parameter:
    return Parameter("batch", "int", default, text, "Documents in a minibatch", 1, 1_000_000)


def _passes(name: str, default: int, low: int, text: str, label: str = "Passes over a document") -> Parameter:
    return Parameter(name, "int", default, text, label, low, 1000)


def _steps(
    prefix: str, scale: float, offset: float, power: float, what: str, where: str
) -> tuple[Parameter, ...]:
    """Return the parameters of steps of scale / (offset + t)^power."""
    rule, see = f"{what} by scale / (offset + t)^power.", f"See the scale {where}."
    return (
        Parameter(f"{prefix}_scale", "float", scale, rule, f"Scale {where}", 1e-6, 1e6),
        Parameter(f"{prefix}_offset", "float", offset, see, f"Offset {where}", 0.0, 1e9),
        Parameter(f"{prefix}_power", "float", power, see, f"Power {where}", 0.0, 1.0),
    )


_MINIBATCH = _batch(100, "Documents that update the topics together.")
_BATCH_STEP = "The t-th minibatch moves the topics"
_SDM = (
    _STREAM_PRIOR,
    _batch(
        1,
        "Documents that use the same topics before these are updated. More than one only to reproduce the paper's "
        "experiments.",
    ),
    _passes("passes", 5, 1, "Updates of a document's topics. One is too few; ten are no better than five."),
    Parameter(
        "step_power", "float", 0.85, "The t-th update of a word moves its counts by t^-power.", "Power of the step",
        0.0, 1.0,
    ),
    Parameter(
        "renew", "bool", True, "From the second epoch on, new counts replace those of the epoch before, word by word. "
        "Otherwise steps continue as in the paper, and rare words keep much of the first epochs. This needs memory for "
        "the topics once more.", "Renew the counts in each epoch",
    ),
    _passes(
        "early_passes", 3, 0, f"Most passes over each of the first documents ({EARLY} per topic), when the topics are "
        "still similar; 0: as in later documents.", "Passes in the beginning",
    ),
)  # fmt: skip
_SCVB0 = (
    _STREAM_PRIOR,
    _MINIBATCH,
    *_steps("step", 1.0, 5.0, 0.8, _BATCH_STEP, "of the step"),
    *_steps("inner", 1.0, 1.0, 0.5, "The t-th word of a document moves its topics", "within a document"),
    _passes("passes", 5, 0, "Passes over a document before it counts.", "Passes before it counts"),
)
_SVB = (
    replace(
        _STREAM_PRIOR,
        help=f"{_STREAM_PRIOR.help} bound: one for each topic, by the gradient of the lower bound.",
        choices=(*_STREAM_PRIOR.choices, "bound"),
    ),
    _MINIBATCH,
    *_steps("step", 1.0, 10.0, 0.8, _BATCH_STEP, "of the step"),
    _passes("inner", 100, 1, "Most updates of a document's topics and of its words' topics, in turn."),
)
#: SN15 tunes the steps, the concentrations and the size of a minibatch of both methods.
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
_LEARNED = "By default each topic has its own alpha, learned left to right. "
_FOR_LONG = "the printed ones are meant for millions of documents"
_SDM_PAPER = Paper(
    "SN15 §7 and §9 (SDM; with prior symmetric SDM-S)",
    {
        "alpha": 0.01, "beta": 0.01, "prior": "paper", "batch": 1000, "passes": 5, "step_power": 0.7, "renew": False,
        "early_passes": 0,
    },
    f"{_LEARNED}The paper's gradient makes alpha too small. From the second epoch on, counts are renewed word by word, "
    "because with steps rare words would keep the counts of the first epochs. The first documents have fewer passes. "
    "The topics are updated after every document, as in the paper's algorithm; its experiments use 1,000 at a time, to "
    "be comparable.",
)  # fmt: skip
_SCVB0_PAPER = Paper(
    "FBDSW13, Algorithm 1, steps as in SN15 §9",
    {
        "alpha": 0.01, "beta": 0.01, "prior": "symmetric", "batch": 100, "step_scale": 10.0, "step_offset": 1000.0,
        "step_power": 0.9, "inner_scale": 1.0, "inner_offset": 10.0, "inner_power": 0.9, "passes": 5,
    },
    f"{_LEARNED}The steps are larger: {_FOR_LONG}, and after one epoch of some thousand the topics are still near "
    "their start.",
)  # fmt: skip
_SVB_PAPER = Paper(
    "Hoffman, Blei, Bach, NIPS 23 (2010), §4; HBWP13, Fig. 6; alpha as in SN15 §9",
    {
        "alpha": 0.01, "beta": 0.01, "prior": "bound", "batch": 100, "step_scale": 1.0, "step_offset": 1024.0,
        "step_power": 0.7,
    },
    f"{_LEARNED}The first steps are larger: {_FOR_LONG}.",
)  # fmt: skip


def stream_methods(shared: tuple[Parameter, ...]) -> tuple[MethodSpec, ...]:
    """Return the rows of the streaming methods, then those of their averages; `shared`: parameters of all methods."""
    plain: list[MethodSpec] = []
    averages: list[MethodSpec] = []
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
        parameters, build = (*shared, *own, *_STREAM_RUN), partial(_METHODS("build_stream"), name)
        row = MethodSpec(
            "lda", name, label, summary, reference, (*parameters, _epochs(5.0)), build, None, streams=True,
            build_from=build, check=_METHODS("check_settings"), count_sweeps=_METHODS("count_windows"), tuned=tuned,
            paper=paper,
        )  # fmt: skip
        plain.append(row)
        averages.append(
            replace(
                row, name=f"a{name}", label=f"Averaged {label}", tuned=(), monitored="mean_change", averaged=True,
                summary=f"{label} with the running mean of its topics over the windows as its answer, which provably "
                "converges, so every run terminates.",
                reference=f"{reference}; Ishiguro, Sato, Ueda, JMLR 18 (2017), eq. 21",
                parameters=(*parameters, *_STREAM_AVERAGED, _epochs(100.0)),
            )
        )  # fmt: skip
    return (*plain, *averages)


#: First sweep after which hyper-parameters are learned, interval, and last sweep, so that a run can converge.
LEARN_FROM, LEARN_EVERY, LEARN_UNTIL = 10, 5, 100
#: Initial sum of the alphas. With 0.1 per topic, hundreds of topics would have so large a sum that most of them die out
#: and predictions get worse.
START_TOTAL = 5.0
_MEMORY, _SPLIT = references_to("models.lda.memory"), references_to("evaluate.split")
_CVB, _AVERAGED = (references_to("models.lda.cvb")(f"build_{name}") for name in ("collapsed", "averaged"))
_CHECK = references_to("models.lda.hyper")("check_concentrations")
_SHARDED = references_to("models.lda.sharded")


def _schedule(train: Any, heldout: Any, method: MethodSpec, values: Values) -> tuple[int, int]:
    # The bound needs the logarithm of every responsibility, which takes as long as a sweep.
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
_SHARED = (
    Parameter("k", "int", 20, "Number of topics.", "Topics", 1, 5000, advanced=False),
    Parameter(
        "alpha", "float", 0.0, "Initial concentration of the topics in a document: the smaller, the fewer topics a "
        f"document mixes. 0: {START_TOTAL:g} divided by the number of topics.",
        "Topics in a document (alpha)", 0.0, 1e3,
    ),
    Parameter(
        "beta", "float", 0.01, "Initial concentration of the words in a topic: the smaller, the fewer words a topic "
        "uses.", "Words in a topic (beta)", 1e-4, 1e3,
    ),
)  # fmt: skip


def _hyper(text: str = "", *more: str) -> Parameter:
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
    200, 1, f"Sweeps that are discarded. Alpha and beta are learned in them, from sweep {LEARN_FROM} on."
)
_TRACK = Parameter(
    "track", "bool", True, "Also average the topic probabilities of every word in every document, for the exact "
    "change of the average and its bound. Without it, a run needs about half the memory and shows the change of the "
    "averaged counts.", "Average the topics of every word",
)  # fmt: skip
_INNER = Parameter(
    "inner", "int", 1, "Updates of a document's topics and of its words' topics in each sweep, in turn.",
    "Passes over a document", 1, 100,
)  # fmt: skip
_SHARDS = Parameter(
    SHARDS, "int", 0, "Number of parts of the documents. All parts are swept at the same time with the topics of the "
    "sweep before: by threads of this machine, by other processes or by a cluster. The result depends only on this "
    "number. 0: documents in memory are not cut; on disk, a part takes at most 2 GB of memory.",
    "Shards", 0, 10_000,
)  # fmt: skip
_BY_SIZE = (
    "by the cores of this machine. The result depends on this number, not on the cores. 0: 4 if a sweep takes more "
    "than about 20 ms, otherwise 1, all in order. Shards are not cut further."
)
_CELLS = Parameter(
    "cells", "int", 0, "Number of parts of the documents and of the words. This number of blocks with different "
    f"documents and words is updated at the same time {_BY_SIZE}", "Blocks at once", 0, 64,
)  # fmt: skip
_PARTS = replace(
    _CELLS, help=f"Parts of the documents that are updated at the same time {_BY_SIZE}", label="Parts at once"
)
_SHORT = Parameter(
    "short", "bool", False, "Over shards, store the topic probabilities of every word in 16 bits instead of 32.",
    "Half the memory over shards",
)  # fmt: skip
_INIT = Parameter(
    "init", "choice", "even", "The start of the run. even: almost equal topics. random: random topics of every word in "
    "every document, as in the papers, which ends with a lower bound.", "Start", choices=("even", "random"),
)  # fmt: skip
_PLAIN = _hyper(
    "plain: the same from the expected counts, where every tiny count makes a topic present and alpha too large. ",
    "plain",
)
_SAMPLED = _hyper(
    "sampled: one alpha for all topics and one beta are drawn after every sweep, under Gamma(1, 1) priors. ",
    "sampled",
)
_IN_ORDER = (*_SHARED, _PLAIN, _SHRINK, PRESET)
_COLLAPSED = (*_IN_ORDER, _CELLS)
_CUT = (_SHARDS, _SHORT)
_RUN = (max_sweeps(1000), TOLERANCE)
#: The mean over all words converges slowly; held-out words are predicted as well long before (docs/measured.md).
_TOLERANCE = replace(TOLERANCE, default=1e-4)
_AVERAGED_RUN = (_TRACK, AUTO_BURN_IN, max_sweeps(5000), _TOLERANCE)
#: Settings that TNW07 prints for both methods that it compares.
_FIXED: Values = {"alpha": 0.1, "beta": 0.1, "hyper": "fixed", "shrink": 0.0}
_LEARNED_WHY = (
    "By default alpha and beta are learned, each topic has its own alpha, and topics without words are dropped: "
    "held-out words are predicted better. "
)
_PRECISION_WHY = (
    "In both, responsibilities are in single precision and the totals of topics are those of the start of a document, "
    "which is several times faster."
)
_EXACT_PAPER = Paper("TNW07 §3.1 and §4", _FIXED, _LEARNED_WHY + _PRECISION_WHY)
_CELLS_WHY = " By default large data are updated in blocks, several at a time, not document by document."
_TNW07 = replace(_EXACT_PAPER, values={**_FIXED, "cells": 1}, otherwise=_EXACT_PAPER.otherwise + _CELLS_WHY)
_PLAIN_PAPER = Paper(
    "ACVB17 §5.1", {"hyper": "plain", "shrink": 0.0, "cells": 1},
    "By default Minka's fixed point weights each expected count by the probability that the topic is present; plain "
    f"counts make alpha too large. Topics without words are dropped. {_PRECISION_WHY}{_CELLS_WHY}",
)  # fmt: skip
_VB_PAPER = Paper(
    "TNW07 §2.1 and §4", {**_FIXED, "init": "random"},
    f"{_LEARNED_WHY}The start is almost even: from random responsibilities the bound of VB ends far lower.",
)  # fmt: skip
_GIBBS_PAPER = Paper(
    "ACVB17 §5.1", {"hyper": "sampled", "burn_in": 100, "max_sweeps": 1000},
    "By default alpha and beta are learned in the burn-in by Minka's fixed point and then fixed: each topic has its "
    "own alpha, and 400 sweeps are enough.",
)  # fmt: skip
MODELS = (LDA,)
METHODS = (
    MethodSpec(
        "lda", "acvb0", "ACVB0",
        "Averaged CVB0: continues like CVB0 and answers with the running mean of its responsibilities, which "
        "provably converges.",
        "Ishiguro, Sato, Ueda, JMLR 18 (2017), eq. 21",
        (*_COLLAPSED, *_CUT, *_AVERAGED_RUN), _SHARDED("build_acvb0"), "mean_change", averaged=True,
        build_from=_SHARDED("build_acvb0"), paper=_PLAIN_PAPER, check=_SHARDED("check_settings"),
    ),
    MethodSpec(
        "lda", "acvb", "ACVB",
        "Averaged second-order CVB: the running mean of CVB's responsibilities, which provably converges.",
        "Ishiguro, Sato, Ueda, JMLR 18 (2017), eq. 21",
        (*_COLLAPSED, *_AVERAGED_RUN), partial(_AVERAGED, "second"), "mean_change", averaged=True,
        build_from=partial(_AVERAGED, "second"), paper=_PLAIN_PAPER, check=_CHECK,
    ),
    MethodSpec(
        "lda", "cvb0", "CVB0",
        "Collapsed variational Bayes with counts replaced by their means: fast and accurate, no guarantee of "
        "convergence.",
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
        (*_SHARED, _hyper(), _INIT, _SHRINK, PRESET, _INNER, _PARTS, _SHARDS, *_RUN), _SHARDED("build_vb"),
        "lower_bound", paper=_VB_PAPER, check=_SHARDED("check_settings"),
    ),
    MethodSpec(
        "lda", "gibbs", "Gibbs",
        "Collapsed Gibbs sampling: samples the topic of every token, answers with the mean of the kept samples, "
        "runs for a fixed number of sweeps.",
        "Griffiths, Steyvers, PNAS 101 (2004); Teh, Newman, Welling, NIPS 19 (2007), eq. 8",
        (*_SHARED, _SAMPLED, PRESET, _KEPT_FROM, max_sweeps(400)),
        references_to("models.lda.gibbs")("build_gibbs"), None, sampled=True, paper=_GIBBS_PAPER, check=_CHECK,
    ),
    *stream_methods(_SHARED),
)  # fmt: skip
