"""A Python without Dask: all but clusters works, and what needs one names the extra."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.cluster.test_command import ROOT

SCRIPT = """
import importlib, pkgutil, sys
sys.modules["dask"] = sys.modules["distributed"] = None  # as if they were not installed
import acvb_core
for module in pkgutil.walk_packages(acvb_core.__path__, "acvb_core."):
    if module.name not in ("acvb_core.__main__", "acvb_core.shards.dask"):
        importlib.import_module(module.name)
corpus = acvb_core.load_sample("bars").corpus
for executor in (None, importlib.import_module("acvb_core.engine.executor").Executor(2)):
    result = acvb_core.fit(corpus, "cvb0", k=3, shards=2, max_sweeps=3, executor=executor)
assert result.snapshot.sweep == 3
from acvb_core.cli import main
assert main(["fit", "sample:bars", "--method", "vb", "--k", "3", "--max-sweeps", "2", "--quiet"]) == 0
sys.exit(main(["cluster"]))
"""


def test_all_but_clusters_works_without_dask() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert "pip install 'acvb-core[cluster]'" in done.stderr
