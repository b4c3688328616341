"""What `import acvb_core` offers, and that it costs nothing until it is used."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.models.irm.export import responsibilities_frame
from acvb_core.registry import METHODS
from acvb_core.store.export import write_run
from tests.loops import for_each

ROOT = Path(__file__).resolve().parents[1]


def test_every_name_is_there() -> None:
    for name in acvb_core.__all__:
        assert getattr(acvb_core, name) is not None
        assert name in dir(acvb_core)
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        _ = acvb_core.magic


def test_the_version_is_the_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert acvb_core.__version__ == project["version"]


LINKS = ROOT / "sample_data/southern_women.csv"
#: Libraries that take long to import.
SLOW = (
    "numba",
    "pandas",
    "scipy",
    "scipy.special",
    "scipy.stats",
    "sklearn",
    "pyarrow",
    "dask",
    "distributed",
)


def slow_imports(code: str) -> str:
    """Return the slow libraries that a new process has imported after some code."""
    code = f"import sys\n{code}\nprint([name for name in {SLOW} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=300)
    return done.stdout.splitlines()[-1] if done.stdout else done.stderr


@for_each(
    "code, imported",
    [
        ("import acvb_core.registry", []),
        ("from acvb_core.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass", []),
        # Nor does a small file of links need tables.
        (
            f"from acvb_core.cli import main\nmain(['fit', {str(LINKS)!r}, '--max-sweeps', '2'])",
            ["numba", "scipy"],
        ),
        (
            "import tempfile\nfrom acvb_core.cli import main\nwith tempfile.TemporaryDirectory() as out:\n"
            f"    main(['fit', {str(LINKS)!r}, '--max-sweeps', '2', '--out', out])",
            ["numba", "pandas", "scipy", "scipy.special", "pyarrow"],
        ),
        # A small relation needs no scikit-learn.
        (
            "import acvb_core\nacvb_core.fit([('a', 'x'), ('b', 'y'), ('a', 'y'), ('c', 'x')], 'cvb0', max_sweeps=2)",
            ["numba", "pandas", "scipy", "pyarrow"],
        ),
        (
            "import pages.ui.shared.services",
            ["numba", "pandas", "scipy", "scipy.special", "scipy.stats", "pyarrow"],
        ),
    ],
)
def test_nothing_slow_is_imported_before_it_is_used(code: str, imported: list[str]) -> None:
    assert slow_imports(code) == str(imported)


def test_methods_are_the_registrys() -> None:
    frame = acvb_core.methods()
    assert list(frame["method"]) == [row.name for row in METHODS]
    assert list(frame["ends"]) == [row.describe_convergence() for row in METHODS]
    size = {"lda": "k=20", "lfm": "k_max=0"}
    size |= dict.fromkeys(("irm", "network", "poisson", "poisson-network"), "k_rows=20")
    assert set(frame["model"]) == set(size)
    assert all(size[model] in text for model, text in zip(frame["model"], frame["settings"], strict=True))


@for_each("sample", ["southern_women", "karate"])
def test_clusters_have_one_number_in_labels_tables_and_files(sample: str, tmp_path: Path) -> None:
    data = acvb_core.load_sample(sample)
    result = acvb_core.fit(data, "vb", k_rows=3, max_sweeps=20)
    write_run(result, tmp_path)
    blocks = pd.read_csv(tmp_path / "blocks.csv")
    arrays = np.load(tmp_path / "posterior.npz")
    for side, table, of_blocks in (("rows", "rows", "row"), ("cols", "columns", "column")):
        if table not in result.tables:
            continue
        labels = result.labels(side)
        assert labels.min() == 1
        assert result.tables[table]["cluster"].tolist() == labels.tolist()
        assert pd.read_csv(tmp_path / f"{table}.csv")["cluster"].tolist() == labels.tolist()
        assert arrays[f"{of_blocks}_cluster"].tolist() == labels.tolist()
        assert set(labels) <= set(blocks[f"{of_blocks}_cluster"])
    frame = responsibilities_frame(result, "rows")
    of_names = frame.drop(columns="object").idxmax(axis=1).str.partition(": ")[0]
    assert of_names.tolist() == [f"cluster_{k}" for k in result.labels("rows")]
    runs = acvb_core.combine([result, acvb_core.fit(data, "vb", k_rows=3, max_sweeps=20)])
    assert runs.consensus("rows")["run_1"].tolist() == result.labels("rows").tolist()
