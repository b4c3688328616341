"""`acvb methods` and `acvb samples`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict


def methods(arguments: argparse.Namespace) -> int:
    """Print the registry's methods, model by model: name, how a run ends, what it is."""
    from acvb_core.registry import METHODS, MODELS, methods_of

    if arguments.json:
        rows = [
            {
                "model": row.model,
                "method": row.name,
                "label": row.label,
                "ends": row.describe_convergence(),
                "summary": row.summary,
                "reference": row.reference,
                "streams": row.streams,
                "tuned": [asdict(range_) for range_ in row.tuned],
                "parameters": [{**asdict(p), "flag": p.flag} for p in row.parameters],
            }
            for row in METHODS
        ]
        sys.stdout.write(json.dumps({"methods": rows}) + "\n")
    elif arguments.papers:
        sys.stdout.write(papers_markdown())
    elif arguments.markdown:
        sys.stdout.write(methods_markdown())
    else:
        parts = []
        for model in MODELS:
            lines = [(row.name, row.describe_convergence(), row.summary) for row in methods_of(model.name)]
            methods_table = table(("method", "ends by", "summary"), lines)
            parts.append(
                f"{model.label} (--model {model.name}): {model.data}\n\n{methods_table}{_streaming(model.name)}"
            )
        sys.stdout.write("\n".join(parts))
    return 0


def methods_markdown() -> str:
    """Return the registry's methods as the Markdown that the documentation shows: a table for each model."""
    from acvb_core.registry import MODELS, methods_of

    parts = []
    for model in MODELS:
        lines = [
            f"**{model.label}** (`{model.name}`), for {model.data}:\n",
            "| method | a run ends by | what it is | source |",
            "|---|---|---|---|",
        ]
        lines += [
            f"| `{row.name}` | {row.describe_convergence()} | {row.summary} | {row.reference} |"
            for row in methods_of(model.name)
        ]
        parts.append("\n".join(lines) + f"\n{_streaming(model.name, '`')}")
    return "\n".join(parts)


def papers_markdown() -> str:
    """Return, for every method, what `preset="paper"` sets and what the default does otherwise, as Markdown."""
    from acvb_core.registry import MODELS, methods_of

    parts = []
    for model in MODELS:
        lines = [
            f"## {model.label} (`{model.name}`)\n",
            "| method | as printed in | settings of the preset | the default, and why |",
            "|---|---|---|---|",
        ]
        for row in methods_of(model.name):
            if row.paper is not None:
                settings = ", ".join(f"`{name}={value!r}`" for name, value in row.paper.values.items())
                lines.append(f"| `{row.name}` | {row.paper.source} | {settings} | {row.paper.otherwise} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _streaming(model: str, mark: str = "") -> str:
    """Return which methods of a model stream, and what that means, as a paragraph; nothing where none does."""
    from acvb_core.registry import methods_of

    names = [f"{mark}{row.name}{mark}" for row in methods_of(model) if row.streams]
    if not names:
        return ""
    stream = f"{', '.join(names[:-1])} and {names[-1]}"
    return (
        f"\n{stream} stream: they take the documents window by window, so that these may "
        "stay on disk, and run for a number of epochs, passes over all documents.\n"
    )


def samples(arguments: argparse.Namespace) -> int:
    """Print the samples: name, kind, size, origin."""
    from acvb_core.samples.catalogue import SAMPLES

    if arguments.json:
        rows = [
            {
                "name": name,
                "title": sample.title,
                "origin": sample.origin,
                "licence": sample.licence,
                "kind": sample.kind,
                "model": sample.model,
                "shape": list(sample.shape),
            }
            for name, sample in SAMPLES.items()
        ]
        sys.stdout.write(json.dumps({"samples": rows}) + "\n")
    else:
        lines = [
            (f"sample:{name}", sample.kind, sample.size_text, f"{sample.title}. {sample.origin}")
            for name, sample in SAMPLES.items()
        ]
        sys.stdout.write(table(("FILE", "kind", "size", "what it is"), lines))
    return 0


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return lines of text in columns; the last column is wrapped to the width of the terminal."""
    widths = [max(len(line[i]) for line in (head, *lines)) for i in range(len(head) - 1)]
    indent = sum(widths) + 2 * len(widths)
    room = max(shutil.get_terminal_size((110, 24)).columns - indent, 30)
    out = []
    for line in (head, *lines):
        first = "".join(f"{cell:<{width}}  " for cell, width in zip(line, widths, strict=False))
        wrapped = textwrap.wrap(line[-1], room) or [""]
        out += [first + wrapped[0], *(" " * indent + more for more in wrapped[1:])]
    return "\n".join(out) + "\n"
