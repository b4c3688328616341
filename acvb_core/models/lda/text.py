"""Text of the command line for a run of latent Dirichlet allocation."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from acvb_core.cli.progress import ReadingProgress
from acvb_core.core.errors import printable
from acvb_core.data.disk import DiskCorpus
from acvb_core.data.report import plural
from acvb_core.engine.result import Result
from acvb_core.models.lda.export import write_document_topics
from acvb_core.models.lda.topics import count_repeats

#: Words of a topic that are shown.
TOP_WORDS = 8


def facts(result: Result) -> list[tuple[str, str]]:
    """Return (name, text) of the second-order bound, the perplexities and the held-out scores."""
    extras, score, rows = result.snapshot.extras, result.snapshot.heldout, []
    if "collapsed_bound" in extras:
        bound = extras["collapsed_bound"]
        broken = "none: it broke down, as the counts are too small for it"
        about = f"about {bound:,.2f} nats; an approximation, which may be too high"
        rows.append(("bound to second order", broken if math.isnan(bound) else about))
    if "loo_perplexity" in extras:
        rows.append(("leave-one-out perplexity", f"{extras['loo_perplexity']:,.1f}"))
    if score is not None:
        completion, each = (
            ("completion ", "a word") if result.prepared.spec.heldout_documents else ("", "each")
        )
        text = f"{completion}perplexity {score.perplexity:,.1f}, {score.log_likelihood:.4f} nats {each}"
        rows.append((held_out(result)[0], text))
    return rows


def held_out(result: Result) -> tuple[str, str]:
    """Return the kind and the number of held-out words."""
    heldout = result.prepared.heldout
    if heldout.seen is None:
        return "held-out words", f"{heldout.n:,}"
    documents = f"{heldout.seen.n_documents:,}"
    return "held-out documents", f"{documents}, {heldout.n:,} words of them to be predicted"


def lines(result: Result) -> str:
    """Return a line for each topic: its number, its share of all words, its most probable words."""
    masses = result.posterior.masses()["topics"]
    table = result.topics[result.topics["rank"] <= TOP_WORDS]
    words = table.groupby("topic", sort=True)["word"].agg(lambda column: ", ".join(map(printable, column)))
    width = max(len(str(words.index.max())), len("topic"))
    seed = result.prepared.spec.seed
    rows = [
        f"the topics of one run (seed {seed}); another seed may find others",
        f"{'topic':>{width}}   share  most probable words",
    ]
    for topic, share in zip(words.index, masses / masses.sum(), strict=True):
        rows.append(f"{topic:>{width}}  {share:>6.1%}  {words[topic]}")
    asked = result.prepared.spec.values["k"]
    if len(words) < asked:
        rows.append(
            f"{asked - len(words):,} of {asked:,} topics are empty: they hold less than one word each"
        )
    if repeats := count_repeats(result.snapshot.posterior):
        rows.append(f"{repeats:,} of {len(words):,} topics repeat a larger one: they have the same words")
    return "\n" + "".join(f"{row}\n" for row in rows)


def write_further_files(result: Result, folder: Path, arguments: argparse.Namespace) -> list[Path]:
    """Write the topics of all documents of a corpus on disk, in place of those of the sample."""
    if not isinstance(result.prepared.data, DiskCorpus):
        return []
    path = folder / "documents.csv"
    progress = ReadingProgress(
        sys.stderr, "the topics of all documents", doing="writing", quiet=arguments.quiet
    )
    try:
        write_document_topics(result, path, progress)
    except KeyboardInterrupt:
        shown = plural(len(result.documents), "document")
        sys.stderr.write(f"acvb: {path} has the topics of a sample only, {shown}\n")
        raise
    return [path]
