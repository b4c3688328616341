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
        ("import acvb_core", []),
        ("import acvb_core.registry", []),
        ("from acvb_core.cli import main\nmain(['methods'])", []),
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
    size = {"irm": "k_rows=20", "network": "k_rows=20", "lda": "k=20", "lfm": "k_max=0"}
    assert set(frame["model"]) == set(size)
    assert all(size[model] in text for model, text in zip(frame["model"], frame["settings"], strict=True))


def test_a_session_in_a_notebook(tmp_path: Path) -> None:
    path = tmp_path / "outings.csv"
    path.write_text(
        "person,event\n" + "".join(f"p{i},e{j}\n" for i in range(8) for j in range(6) if i % 2 == j % 2)
    )
    relation = acvb_core.load_relation(path).data
    assert isinstance(relation, acvb_core.Relation)
    result = acvb_core.fit(relation, "acvb0", k_rows=4, k_cols=4)
    assert isinstance(result, acvb_core.Result)
    assert str(result.verdict) == "CONVERGED"
    assert dict(result.snapshot.effective_k) == {"rows": 2, "cols": 2}
    comparison = acvb_core.compare(
        relation, ["vb", "gibbs"], seeds=2, k_rows=4, k_cols=4, max_sweeps=5, burn_in=1
    )
    assert len(comparison.table()) == 4
    assert comparison.agreement("rows").shape == (4, 4)


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
    of_names = frame.drop(columns="object").idxmax(axis=1)
    assert of_names.tolist() == [f"cluster_{k}" for k in result.labels("rows")]
    runs = acvb_core.combine([result, acvb_core.fit(data, "vb", k_rows=3, max_sweeps=20)])
    assert runs.consensus("rows")["run_1"].tolist() == result.labels("rows").tolist()


def test_topics_and_documents_have_one_number_in_labels_tables_and_files(tmp_path: Path) -> None:
    texts = ["ship sail sea", "ship sea sail sail", "corn field", "corn field corn"] * 4
    loaded = acvb_core.load_corpus(texts)
    result = acvb_core.fit(loaded, "cvb0", k=2, alpha=0.1, hyper="fixed", max_sweeps=30)
    write_run(result, tmp_path)
    labels = result.labels("documents")
    for table in (result.documents, pd.read_csv(tmp_path / "documents.csv")):
        assert table.filter(like="topic_").idxmax(axis=1).tolist() == [f"topic_{k}" for k in labels]
    for topics in (result.topics, pd.read_csv(tmp_path / "topics.csv")):
        number = dict(zip(loaded.data.vocabulary, result.labels("words"), strict=True))
        first = topics[topics["rank"] == 1]
        assert {word: number[word] for word in first["word"]} == dict(
            zip(first["word"], first["topic"], strict=True)
        )
    # Documents without names are numbered alike wherever they come from.
    numbers = [str(i + 1) for i in range(len(texts))]
    counts = acvb_core.Corpus.build(loaded.data.counts)
    disk = acvb_core.read_to_disk(texts, tmp_path / "disk").data
    for table in (result.documents, result.transform(texts), acvb_core.fit(counts, "cvb0", k=2).documents):
        assert table["document"].tolist() == numbers
    assert disk.document_names(range(len(texts))) == numbers
