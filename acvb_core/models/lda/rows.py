"""The registry's rows of LDA."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from acvb_core.core.parameters import Parameter
from acvb_core.core.references import references_to
from acvb_core.core.rows import (
    AUTO_BURN_IN,
    PRESET,
    SHARDS,
    TOLERANCE,
    MethodSpec,
    ModelSpec,
    Paper,
    Values,
    burn_in,
    max_sweeps,
)
from acvb_core.models.lda.display import DISPLAY
from acvb_core.models.lda.streams.rows import stream_methods

#: Hyper-parameters are learned first after this sweep, then every so many sweeps, and never after the last of these, so
#: that a run can settle.
LEARN_FROM, LEARN_EVERY, LEARN_UNTIL = 10, 5, 100
#: Sum of the alphas to start from. With 0.1 for any number of topics, hundreds of them would begin with so large a
#: sum that most die out, and predict worse.
START_TOTAL = 5.0

_MEMORY, _SPLIT = references_to("models.lda.memory"), references_to("evaluate.corpus_split")
_CVB, _AVERAGED = (references_to("models.lda.cvb")(f"build_{name}") for name in ("collapsed", "averaged"))
_CHECK = references_to("models.lda.hyper")("check_concentrations")
_SHARDED = references_to("models.lda.sharded.building")


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
    count_alike=references_to("models.lda.evaluate.alike_topics")("count_alike_topics"),
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
        "Averaged CVB0: goes on like CVB0 and answers with the running mean of its responsibilities, which is "
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
        (*_IN_ORDER, *_RUN), references_to("models.lda.exact.cvb")("build_exact"), "pseudo_loo", paper=_EXACT_PAPER,
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
