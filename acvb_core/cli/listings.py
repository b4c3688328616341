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
        fields = ("label", "summary", "reference", "streams")
        rows = [
            {"model": row.model, "method": row.name, "ends": row.describe_convergence()}
            | {field: getattr(row, field) for field in fields}
            | {"tuned": [asdict(one) for one in row.tuned]}
            | {"parameters": [{**asdict(p), "flag": p.flag} for p in row.parameters]}
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
        rows = [
            (f"`{row.name}`", row.describe_convergence(), row.summary, row.reference)
            for row in methods_of(model.name)
        ]
        lines = _markdown(("method", "a run ends by", "what it is", "source"), rows)
        title = f"**{model.label}** (`{model.name}`), for {model.data}:"
        parts.append(f"{title}\n\n{lines}{_streaming(model.name, '`')}")
    return "\n".join(parts)


def papers_markdown() -> str:
    """Return, for every method, what `preset="paper"` sets and what the default does otherwise, as Markdown."""
    from acvb_core.registry import MODELS, methods_of

    parts = []
    for model in MODELS:
        rows = []
        for row in methods_of(model.name):
            if row.paper is not None:
                settings = ", ".join(f"`{name}={value!r}`" for name, value in row.paper.values.items())
                rows.append((f"`{row.name}`", row.paper.source, settings, row.paper.otherwise))
        if rows:
            lines = _markdown(
                ("method", "as printed in", "settings of the preset", "the default, and why"), rows
            )
            parts.append(f"## {model.label} (`{model.name}`)\n\n{lines}")
    return "\n".join(parts)


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |\n" for row in (head, *rows)]
    lines.insert(1, f"|{'---|' * len(head)}\n")
    return "".join(lines)


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
        fields = ("name", "title", "origin", "licence", "kind", "model", "shape")
        rows = [{field: getattr(sample, field) for field in fields} for sample in SAMPLES.values()]
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
