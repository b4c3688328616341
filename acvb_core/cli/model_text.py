"""What is printed for people about the runs of each model, beside what is said of any run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from acvb_core.cli.printable import printable
from acvb_core.engine.result import Result
from acvb_core.models.lfm import text as lfm_text
from acvb_core.store.known_labels import known_labels

#: Words of a topic that are shown.
TOP_WORDS = 8

Facts = list[tuple[str, str]]


class ModelText(NamedTuple):
    """One model's part of the text.

    Attributes
    ----------
    facts : callable
        Result -> (name, text) of the scores and the diagnostics that only this model has.
    found : callable
        Result -> what was found, in lines of text; may be empty.
    held_out : callable
        Result of a run that has something held out -> what, and how much of it.
    """

    facts: Callable[[Result], Facts]
    found: Callable[[Result], str]
    held_out: Callable[[Result], tuple[str, str]]


def _irm_facts(result: Result) -> Facts:
    facts = [("known labels", text) for text in _known_labels(result)]
    score = result.snapshot.heldout
    if score is not None:
        text = (
            f"{score.log_likelihood:.4f} nats each, skill {score.skill:.3f}, ROC AUC {score.roc_auc:.3f}, "
            f"average precision {score.average_precision:.3f}"
        )
        name, number = _irm_held_out(result)
        facts.append((name, f"{number}: {text}"))
    return facts


def _irm_held_out(result: Result) -> tuple[str, str]:
    """Return what was held out, and how much of it."""
    number, network = f"{result.problem.heldout.n:,}", result.problem.data.network
    if network is None:
        return "held-out entries", number
    if network.directed:
        return "held-out pairs", f"{number} pairs, each in one direction"
    return "held-out pairs", f"{number} pairs, each held out and scored once"


def _known_labels(result: Result) -> list[str]:
    """Return for each attribute of the data how well the clusters agree with it."""
    return [
        f"{printable(line.attribute)}: {_agreement(line)} ({line.known:,} of {line.known + line.unknown:,} objects, "
        f"{line.labels:,} labels)"
        for line in known_labels(result).itertuples()
    ]


def _agreement(line: Any) -> str:
    if math.isnan(line.ari):
        return "nothing to compare with"
    return f"adjusted Rand index {line.ari:.3f}, normalised mutual information {line.nmi:.3f}"


def _nothing(result: Result) -> str:
    return ""


def _lda_facts(result: Result) -> Facts:
    extras, score = result.snapshot.extras, result.snapshot.heldout
    facts = []
    if "collapsed_bound" in extras:
        facts.append(("bound to second order", f"{extras['collapsed_bound']:,.2f} nats"))
    if "loo_perplexity" in extras:
        facts.append(("leave-one-out perplexity", f"{extras['loo_perplexity']:,.1f}"))
    if score is not None:
        name = _lda_held_out(result)[0]
        each = "a word" if result.problem.settings.heldout_documents else "each"
        completion = "completion " if result.problem.settings.heldout_documents else ""
        text = f"{completion}perplexity {score.perplexity:,.1f}, {score.log_likelihood:.4f} nats {each}"
        facts.append((name, text))
    return facts


def _lda_held_out(result: Result) -> tuple[str, str]:
    heldout = result.problem.heldout
    if heldout.seen is not None:
        return (
            "held-out documents",
            f"{heldout.seen.n_documents:,}, {heldout.n:,} words of them to be predicted",
        )
    return "held-out words", f"{heldout.n:,}"


def _topics(result: Result) -> str:
    """Return a line for each topic: its number, its share of all words, its most probable words."""
    masses = result.posterior.masses()["topics"]
    table = result.topics[result.topics["rank"] <= TOP_WORDS]
    words = table.groupby("topic", sort=True)["word"].agg(lambda column: ", ".join(map(printable, column)))
    width = max(len(str(words.index.max())), len("topic"))
    lines = [f"{'topic':>{width}}   share  most probable words"]
    for topic, share in zip(words.index, masses / masses.sum(), strict=True):
        lines.append(f"{topic:>{width}}  {share:>6.1%}  {words[topic]}")
    return "\n" + "".join(f"{line}\n" for line in lines)


_IRM = ModelText(_irm_facts, _nothing, _irm_held_out)
TEXTS = {
    "irm": _IRM,
    "network": _IRM,
    "lda": ModelText(_lda_facts, _topics, _lda_held_out),
    "lfm": ModelText(lfm_text.facts, lfm_text.lines, lfm_text.held_out),
}
