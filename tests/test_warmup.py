"""The warm-up compiles what runs will use, in other processes if something is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from acvb_core import warmup
from acvb_core.core.parallel import computing
from acvb_core.engine import compilation
from acvb_core.engine.compilation import event
from tests.loops import for_each

ROOT = Path(__file__).resolve().parents[1]

# In a process of its own: in this one, other tests have compiled what they like.
CODE = r"""
import json, sys, tempfile
from dataclasses import replace
from numba.core.dispatcher import Dispatcher
from acvb_core import warmup

def compiled():
    found = {}
    for module in [m for name, m in sys.modules.items() if name.startswith("acvb_core.")]:
        for name, value in vars(module).items():
            if isinstance(value, Dispatcher):
                found[f"{value.py_func.__module__}.{name}"] = sorted(map(str, value.nopython_signatures))
    return found

warmup.main()
before = compiled()

import numpy as np

import acvb_core
from acvb_core.evaluate.alignment import align_topics
from acvb_core.data.relation import Network, Relation
from acvb_core.data.table import Table
from acvb_core.models.lda.topics import topic_map
from acvb_core.models.irm.moves import MOVES_FROM
from acvb_core.registry import MODELS, methods_of
from acvb_core.samples.planted_mixtures import planted_topics

SIZES = {
    "irm": {"k_rows": 4, "k_cols": 3}, "network": {"k_rows": 4}, "poisson": {"k_rows": 4, "k_cols": 3},
    "poisson-network": {"k_rows": 4}, "lda": {"k": 4}, "lfm": {"k_max": 4},
}
karate = acvb_core.load_sample("karate").relation
# Functions are compiled for types of data, which all four kinds of networks share: two of them have every setting.
networks = [Relation.build(karate.ones, network=Network(both, both)) for both in (True, False)]
gaps = np.arange(600.0).reshape(60, 10) % 7
gaps[::5, 3] = np.nan
tables = [Table.build(values, standardise=scaled) for values in (gaps, gaps[:, 4:]) for scaled in (True, False)]
weights = np.arange(karate.n_ones) % 3 + 1.0
counted = [replace(data, weights=np.full(data.n_ones, 2.0)) for data in networks]
DATA = [
    ("irm", karate), *(("network", data) for data in networks),
    ("poisson", karate), ("poisson", replace(karate, weights=weights)),
    *(("poisson-network", data) for data in (networks[0], *counted)),
    ("lda", planted_topics(30, 40, 4, 20, 0.2, 0.1, 0).corpus), *(("lfm", data) for data in tables),
]
assert {model for model, _ in DATA} == {row.name for row in MODELS}
for model, data in DATA:
    for share in (0.0, 0.1):
        for method in methods_of(model):
            limits = {"max_sweeps": MOVES_FROM + 1} | ({"burn_in": 1} if method.averaged else {})
            if method.streams:
                limits = {"epochs": 0.1}
            # All defaults, and with held-out data, which use more functions, every other choice of one parameter.
            for values in [{}] + [
                {parameter.name: choice}
                for parameter in method.parameters
                for choice in ((True, False) if parameter.kind == "bool" else parameter.choices)
                if share and choice != parameter.default
            ]:
                # The chain that runs begin with by default is the same for all choices: it is run with the defaults.
                start = {"init": "random"} if "k_rows" in SIZES[model] and values else {}
                result = acvb_core.fit(
                    data, method.name, model=model, heldout=share, **SIZES[model], **limits, **start | values
                )
                if model == "lfm":
                    result.tables, result.prepared.model.train_log_likelihood(result.posterior)
                if model != "lda" or values:
                    continue
                fitted, posterior = result.prepared.model, result.snapshot.posterior
                fitted.extras(posterior, None, fitted.pseudo_loo(posterior))
                topics = fitted.topics(posterior).word_probability
                fitted.transform(posterior, data)
                fitted.completion(posterior, data)
                topic_map(topics)
                align_topics(topics, topics[::-1])
corpora = [
    (b"the cat sat on the mat\nthe dog sat\ncats and dogs\n" * 10, {"format": "lines"}),
    (b"document,word,count\n" + b"a,x,2\nb,y,1\na,y,3\nb,z,2\n" * 50, {}),
    (b"document,word\na,x\na,y\nb,x\nb,x\n", {"count_column": False}),
    (b"2\n3\n3\n1 1 2\n1 2 1\n2 3 4\n", {"format": "docword"}),
    (b"2 0:1 1:2\n1 2:3\n", {"format": "ldac"}),
]
with tempfile.TemporaryDirectory() as folder:
    for number, (content, options) in enumerate(corpora):
        acvb_core.load_corpus(content, name="read", **options)
        acvb_core.read_to_disk(content, f"{folder}/{number}", broken="skip", **options)
for content in (b"a,b\n1,2\n3,4.5\n", b"name;a;b\nx;1,5;2\ny;3;4\nz;;6\n", b"1 2\n3 -4e5\n"):
    acvb_core.load_table(content, name="read")
after = compiled()
print(json.dumps([name for name in after if after[name] != before.get(name)]))
"""


@pytest.mark.long
def test_runs_find_everything_compiled() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, timeout=1200, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    said, found = done.stdout.splitlines()
    assert said.startswith("The kernels are compiled (92 runs, ")
    assert json.loads(found) == []


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What an app's warm-up does; its tiny runs do nothing, and neither do other processes."""
    made: list[str] = []

    def start(name: str) -> Callable[..., SimpleNamespace]:
        return lambda *arguments: SimpleNamespace(wait=lambda: made.append(" ".join([name, *arguments])))

    monkeypatch.setattr(compilation, "_ready", set())
    monkeypatch.setattr(compilation, "_run_tiny", lambda model, row, *_: made.append(row.label))
    monkeypatch.setattr(warmup, "_read_files", lambda: made.append("files"))
    monkeypatch.setattr(warmup, "_use_figures", lambda: made.append("figures"))
    monkeypatch.setattr(warmup, "start_first_compiler", start("first"))
    monkeypatch.setattr(warmup, "start_compiler", start("whole"))
    monkeypatch.setattr(warmup, "share_compiling", lambda *arguments: nullcontext(made.extend(arguments)))
    return made


def test_an_app_whose_kernels_are_compiled_waits_for_no_other_process(
    steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "nice", steps.append)
    warmup.warm_up_beside()
    assert steps[:2] == ["files", "ACVB0"]
    assert steps[-1] == "figures"
    assert len(steps) > 30
    assert not {"first", "whole", 5} & set(steps)


def test_an_app_reads_no_further_kernels_while_a_run_computes(steps: list[str]) -> None:
    thread = threading.Thread(target=warmup.warm_up)
    with computing():
        thread.start()
        while len(steps) < 2:
            thread.join(0.01)
        thread.join(0.3)
        assert steps == ["files", "ACVB0"]
    thread.join(30)
    assert steps[-1] == "figures"


@for_each("lacking, waits", [(1, ["first"]), (2, ["first", "whole"])])
def test_missing_kernels_are_compiled_by_other_processes(
    lacking: int, waits: list[str], steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the one that started with the app; where that has only looked, by another one."""

    def read_or_compile() -> None:
        steps.append("files")
        if steps.count("files") <= lacking:
            with event.trigger_event("numba:compile", data={}):
                steps.append("compiled here")

    steps.clear()
    monkeypatch.setattr(compilation, "_ready", set())
    monkeypatch.setattr(warmup, "_read_files", read_or_compile)
    warmup.warm_up_beside()
    begin = [step for wait in waits for step in ("files", wait)]
    assert steps[: len(begin) + 2] == [*begin, "files", "ACVB0"]
    assert "compiled here" not in steps


def run_beside(steps: list[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> list[str]:
    """Return the steps of a process that compiles next to this one."""
    monkeypatch.setattr(sys, "argv", ["warmup", "--beside", str(os.getppid()), *arguments])
    monkeypatch.setattr(os, "nice", steps.append)
    monkeypatch.setattr(warmup, "_end_with", lambda parent: steps.append(f"ends with {parent}"))
    assert warmup.main() == 0
    return steps


def test_two_processes_begin_at_different_ends_and_give_way_after_the_first_method(
    steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    forwards = run_beside(steps, monkeypatch)[2:]
    assert forwards[:4] == ["--backwards", "files", "ACVB0", 5]
    steps.clear()
    monkeypatch.setattr(compilation, "_ready", set())
    backwards = run_beside(steps, monkeypatch, "--backwards")[1:]
    assert backwards[:2] == ["ACVB0", 5]
    assert backwards[2] == forwards[-2]
    assert backwards[-2:] == ["figures", "files"]
    assert sorted(map(str, backwards)) == sorted(map(str, forwards[1:]))
