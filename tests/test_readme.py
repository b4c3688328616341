"""The README says what is true: its table of methods, its figures' commands, its code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acvb_core.cli.listings import methods_markdown

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def test_table_of_methods_is_the_registrys() -> None:
    found = re.search(r"<!-- methods: .* -->\n(.*?)<!-- end of methods -->", README, re.DOTALL)
    assert found is not None
    assert found.group(1) == methods_markdown(), "run: python -m acvb_core methods --markdown"


def test_pictures_and_files_exist() -> None:
    for path in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README):
        assert (ROOT / path).is_file(), path
    for path in re.findall(r"`((?:benchmarks|script|sample_data)/[\w./]+)", README):
        assert (ROOT / path).exists(), path
    for name in re.findall(r"python (benchmarks/\w+\.py)", README):
        assert (ROOT / name).is_file(), name


def test_python_example_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # it writes a model
    for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(compile(block, "README.md", "exec"), {})
    assert "CONVERGED" in capsys.readouterr().out


def test_constants_named_in_the_text() -> None:
    from acvb_core.averaging import BURN_IN_CAP, SETTLED
    from acvb_core.data.split import MAX_ENTRIES
    from acvb_core.engine.stopping import worst_case_sweeps
    from acvb_core.irm.moves import MOVES_EVERY, MOVES_FROM

    flat = " ".join(README.split())
    assert f"{worst_case_sweeps(1e-5):,} sweeps for 1e-5" in flat
    assert f"less than {SETTLED:.0e}".replace("e-0", "e-") in flat
    assert f"latest after {BURN_IN_CAP} sweeps" in flat
    assert f"After {MOVES_FROM} sweeps, and every {MOVES_EVERY} until" in flat
    assert f"At most {MAX_ENTRIES // 1_000_000} million entries" in flat
