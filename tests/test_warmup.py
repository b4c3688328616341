"""The warm-up compiles what runs will use: nothing is left for a first run to wait for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# In a process of its own: in this one, other tests have compiled what they like.
CODE = """
import json, sys
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

import acvb_core
from acvb_core.registry import METHODS

relation = acvb_core.load_sample("karate").relation
for share in (0.0, 0.1):
    for method in METHODS:
        for parameter in method.parameters:
            for choice in parameter.choices:
                acvb_core.fit(
                    relation, method.name, heldout=share, k_rows=4, k_cols=3, max_sweeps=6,
                    **{parameter.name: choice},
                )
after = compiled()
print(json.dumps([name for name in after if after[name] != before.get(name)]))
"""


def test_runs_find_everything_compiled() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    said, found = done.stdout.splitlines()
    assert said.startswith("The kernels are compiled (16 runs, ")
    assert json.loads(found) == []
