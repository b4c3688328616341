"""Python that repeats a run."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from acvb_core.core.spec import PRESET
from acvb_core.data.corpora.tokenise import Tokeniser, name_of
from acvb_core.data.disk import DiskCorpus
from acvb_core.data.relation import Relation
from acvb_core.data.table import Table
from acvb_core.engine.history import Verdict
from acvb_core.engine.result import Result
from acvb_core.registry import model_for
from acvb_core.samples.catalogue import SAMPLES, load_sample
from acvb_core.store.codecs import DataKind
from acvb_core.store.datasets import kind_of
from acvb_core.store.topics import MODEL

#: End of the names of files that `Result.save` writes.
RESULT = ".acvb"


def python_snippet(
    result: Result, source: str | None = None, reader_options: Mapping[str, Any] | None = None
) -> str:
    """Return Python that makes the same run again, bit for bit on the same versions of the libraries.

    Parts that were joined by a reader are joined again, and documents of a group are taken again.

    `source`: path of the file the data came from, a file that `Result.save` wrote, or `sample:NAME`. Without it: the
      sample of the data's name where the data are that sample's, else the file that the read report names, else a file
      name to fill in.
    `reader_options`: arguments of the reader (`load_relation`, `load_corpus`, `load_table`) after the path, by default
      those of the read report. A corpus itself says how its texts were cut.
    """
    prepared = result.prepared
    data, settings = prepared.data, prepared.spec
    kind = kind_of(data)
    if source is None and (sample := _find_sample(data, prepared.fingerprint)) is not None:
        source = f"sample:{sample}"
    if result.report is not None:
        source = source or _name_file(result.report.source)
        reader_options = result.report.to_dict()["options"] if reader_options is None else reader_options
    arguments: dict[str, Any] = {} if settings.model == model_for(data).name else {"model": settings.model}
    arguments |= {
        name: getattr(settings, name)
        for name, default in (("seed", 0), ("heldout", 0.0), ("heldout_documents", 0.0), ("heldout_seed", 0))
        if getattr(settings, name) != default
    }
    arguments |= _changed_values(result)
    lines = [kind.called, repr(settings.method), *(f"{name}={value!r}" for name, value in arguments.items())]
    call = "".join(f"    {line},\n" for line in lines)
    if settings.start:
        # One line, whatever the corpus is called.
        call += f"    start=acvb_core.load_model({MODEL!r}),  # {' '.join(settings.start.split())}\n"
    loading = _loading(data, kind, source, reader_options or {})
    more = "from dataclasses import replace\n\n" if loading.startswith("replace(") else ""
    return (
        f"{more}import acvb_core\n\n"
        f"{kind.called} = {loading}\n"
        f"# {data.size_text}; the same data have this fingerprint.\n"
        f'assert {kind.called}.fingerprint == "{prepared.fingerprint}"\n'
        f"{_race_note(result)}result = acvb_core.fit(\n{call})\n"
        'print(result.verdict, "after", result.snapshot.sweep, "sweeps")\n'
        + (prepared.model_row.part("answer.summary").write_arrangement(result) if result.arranged else "")
        + "".join(f"result = result.among({column!r}, {group!r})\n" for column, group in result.groups)
    )


def _name_file(source: str) -> str | None:
    """Return the source of a read report if that is the name of a file, not of an object in memory."""
    return source if Path(source).suffix and Path(source).name == source else None


def _loading(data: Any, kind: DataKind, source: str | None, given: Mapping[str, Any]) -> str:
    """Return Python that gives the data."""
    if source is not None and source.startswith("sample:"):
        loading = f"acvb_core.load_sample({source.removeprefix('sample:')!r}).data"
        as_they_are = isinstance(data, Table) and not data.standardise
        return f"replace({loading}, standardise=False)" if as_they_are else loading
    if source is not None and source.endswith(RESULT):
        return f"acvb_core.load_result({source!r}).prepared.data"
    on_disk = isinstance(data, DiskCorpus)
    if on_disk and (source is None or Path(source).is_dir()):
        return f"acvb_core.DiskCorpus.open({str(data.folder)!r})"
    options = _known_options(data, given)
    codes = {name: _code(name, value) for name, value in options.items() if value is not None}
    parts = [repr(source or "FILE.csv"), *(["'FOLDER'"] if on_disk else [])]
    parts += [f"{name}={code}" for name, code in codes.items() if code]
    return f"acvb_core.{kind.loader}({', '.join(parts)}).data"


def _known_options(data: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the reader: the given ones, and what the data say, which need not be guessed then."""
    options = {name: value for name, value in given.items() if value is not None}
    if isinstance(data, Table):
        return _table_options(data) | options
    if not isinstance(data, Relation):
        return {"tokeniser": getattr(data, "tokeniser", None), **options}
    if data.network is not None:
        return {**options, "domains": "one", **asdict(data.network)}
    if "domains" not in options and not set(data.row_labels).isdisjoint(data.column_labels):
        return {**options, "domains": "two"}
    return options


def _table_options(table: Table) -> dict[str, Any]:
    """Return the options of a table's reader that differ from what it does by itself."""
    known: dict[str, Any] = {} if table.standardise else {"standardise": False}
    image = table.image
    if image is not None:
        known["image"] = (int(image.height), int(image.width))
        if len(image.pixels) < len(image.background):
            known["constants"] = "leave-out"
    return known


def _race_note(result: Result) -> str:
    """Return a comment on the race that a run came out of; the run itself is repeated alone."""
    race_report = result.race_report
    if race_report is None:
        return ""
    place = "won" if race_report.is_decided else "was ahead in"
    again = f"seed={race_report.first_seed}, restarts={race_report.restarts}"
    return f"# Seed {race_report.leader} {place} a race of restarts, which {again} repeats.\n"


def _code(name: str, value: Any) -> str:
    """Return an argument of a reader as Python; of a tokeniser what differs from the usual one, if anything."""
    if name != "tokeniser":
        return repr(os.fspath(value) if isinstance(value, os.PathLike) else value)
    tokeniser = value if isinstance(value, Tokeniser) else Tokeniser.from_dict(value)
    usual = Tokeniser().to_dict()
    changed = {
        key: repr(setting) for key, setting in tokeniser.to_dict().items() if setting != usual.get(key)
    }
    named = isinstance(tokeniser.function, str) and tokeniser.word_function is not None
    if tokeniser.function is not None and not named:
        changed["function"] = name_of(tokeniser.function)  # for the user to import
    settings = ", ".join(f"{key}={code}" for key, code in changed.items())
    return settings and f"acvb_core.Tokeniser({settings})"


def _find_sample(data: Any, fingerprint: str) -> str | None:
    """Return the sample, by its name or title, that the data are as they were loaded; None where they are none."""
    sample = next((one for one in SAMPLES.values() if data.name in (one.name, one.title)), None)
    if sample is None or (sample.kind, sample.shape[0]) != (kind_of(data).name, data.shape[0]):
        return None
    same = _sample_fingerprint(sample.name, getattr(data, "standardise", True)) == fingerprint
    return sample.name if same else None


@lru_cache(maxsize=16)
def _sample_fingerprint(name: str, standardise: bool) -> str:
    """Return a sample's fingerprint, kept: texts take a second to be cut, and pages ask again and again."""
    data = load_sample(name).data
    return (
        data if standardise or not isinstance(data, Table) else replace(data, standardise=False)
    ).fingerprint


def _changed_values(result: Result) -> dict[str, Any]:
    """Return the method's settings that are not the defaults, the cap being the one this answer needs."""
    prepared, last = result.prepared, result.snapshot
    values = dict(prepared.spec.values)
    # A stopped run ends where it was stopped; an extended one had more sweeps than its settings say.
    stopped = result.verdict is Verdict.STOPPED and last.sweep > 0
    sweeps = last.sweep if stopped else result.max_sweeps
    if "max_sweeps" in values:
        values["max_sweeps"] = sweeps
    elif sweeps != prepared.max_sweeps:
        # One that ended by itself beyond its settings needs room to, however much.
        values["epochs"] = last.passes if last.sweep == sweeps else float(math.ceil(last.passes) + 1)
    usual = {name: value for name, value in values.items() if name == PRESET.name}
    defaults = prepared.row.values(usual) | {PRESET.name: PRESET.default}
    return {name: value for name, value in values.items() if value != defaults[name]}
