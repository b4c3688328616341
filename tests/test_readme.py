"""README and docs say what is true: the table of methods, the commands of the figures, the code, the links."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from acvb_core.cli.listings import methods_markdown, papers_markdown
from pages.ui.irm.words_relation import RELATION
from pages.ui.lfm.words_table import TABLES
from tests.loops import for_each

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    path: path.read_text()
    for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")))
    if path.name != "CHANGELOG.md"  # it describes the past
}
MEASURED = PAGES[ROOT / "docs" / "measured.md"]
TEXT = "\n".join(PAGES.values())


def test_table_of_methods_is_the_registrys() -> None:
    found = re.search(r"<!-- methods: .* -->\n(.*?)<!-- end of methods -->", TEXT, re.DOTALL)
    assert found is not None
    assert found.group(1) == methods_markdown(), "run: python -m acvb_core methods --markdown"


def test_tables_of_the_papers_are_the_registrys() -> None:
    found = re.search(r"<!-- papers: .* -->\n(.*?)<!-- end of papers -->", TEXT, re.DOTALL)
    assert found is not None
    assert found.group(1) == papers_markdown(), "run: python -m acvb_core methods --papers"


def test_tables_of_which_method_predicts_best_are_the_measured_one() -> None:
    """In the app, which shows them on the Guide and on Compare."""
    ((_, links),), ((_, cells),) = RELATION.advice, TABLES.advice
    measured = _read_skills(MEASURED)
    assert len(measured) == 6
    assert _read_skills(links) == measured
    shown, measured = _read_cells(cells), _read_cells(MEASURED)
    assert len(measured) == 11
    assert list(shown) == ["FAB", "IBP", "Factor analysis", "Column means"]
    assert shown == {method: measured[method] for method in shown}


def _read_cells(text: str) -> dict[str, list[str]]:
    """Return the log likelihoods of each method in the table of a text, without the numbers of features."""
    below = re.search(r"\|[^\n]*\| Wine, 178 x 13 [^\n]*\n\s*\|[-|]+\n((?:\s*\|[^\n]*\n)+)", text)
    assert below is not None
    rows = [re.split(r"\s*\|\s*", line.strip().strip("| ")) for line in below.group(1).splitlines()]
    return {row[0]: [cell.partition(" ")[0] for cell in row[1:]] for row in rows}


def _read_skills(text: str) -> dict[str, list[str]]:
    """Return the three skills of each relation in the table of a text."""
    below = re.search(r"\|[^\n]*ACVB0, clusters[^\n]*\n\s*\|[-|]+\n((?:\s*\|[^\n]*\n)+)", text)
    assert below is not None
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")] for line in below.group(1).splitlines()
    ]
    return {row[0].partition(",")[0]: row[1:4] for row in rows}


@for_each("page", list(PAGES))
def test_links_pictures_and_files_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", PAGES[page]):
        path, _, heading = target.partition("#")
        linked = page.parent / path
        assert linked.is_file(), target
        headings = re.findall(r"^#+ (.*)$", linked.read_text(), re.MULTILINE) if heading else []
        assert heading in ["", *(one.lower().replace(" ", "-") for one in headings)], target
    for path in re.findall(r"`((?:benchmarks|script|sample_data)/[\w./]+)", PAGES[page]):
        assert (ROOT / path).exists(), path


#: What is run as `python -m benchmarks.NAME`, modules and packages, by the file that says how.
BENCHMARKS = {
    **{path.stem: path for path in sorted((ROOT / "benchmarks").glob("*.py"))},
    **{path.parent.name: path for path in sorted((ROOT / "benchmarks").glob("*/__main__.py"))},
}
# Peers have an environment of their own, and are run by `script/bench`; the harness is what benchmarks share.
del BENCHMARKS["peers"], BENCHMARKS["harness"]

#: Takes commands, runs each as far as its arguments are read, and fails with the first one that cannot be run so.
START = """
import argparse, runpy, shlex, sys

class Started(BaseException):
    pass

read = argparse.ArgumentParser.parse_args

def parse_args(self, *given):
    read(self, *given)
    raise Started

argparse.ArgumentParser.parse_args = parse_args
for command in sys.argv[1:]:
    module, *sys.argv[1:] = shlex.split(command)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except Started:
        continue
    except BaseException as error:
        sys.exit(f"{command}: {error!r}")
    sys.exit(f"{command}: its arguments are not read")
"""


def printed_commands() -> list[str]:
    """Return what README and docs print after ``python -m``, optional arguments included."""
    found = re.findall(r"(?:`|^ {4})python -m ((?:acvb_core|benchmarks)[^`\n]*)", TEXT, re.MULTILINE)
    return [re.sub(r"[][]", "", command) for command in found]


def test_printed_commands_start() -> None:
    commands = printed_commands()
    assert {command.split()[0] for command in commands} == {
        "acvb_core",
        *(f"benchmarks.{name}" for name in BENCHMARKS),
    }
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    how = {"cwd": ROOT, "env": bare, "capture_output": True, "text": True, "timeout": 300}
    done = subprocess.run([sys.executable, "-c", START, *commands], **how)
    assert done.returncode == 0, done.stderr


@for_each("name, path", BENCHMARKS.items())
def test_benchmarks_say_how_they_are_run(name: str, path: Path) -> None:
    """A file run by its path does not see the package: only as a module does it start in a fresh checkout."""
    assert f"\n    python -m benchmarks.{name}" in path.read_text()
    assert f"benchmarks/{name}.py" not in path.read_text() + TEXT


def test_python_example_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # it writes a model
    # The five lines need the runs of an experiment, and are run by its test.
    for block in re.findall(r"(?<!<!-- five lines -->\n)```python\n(.*?)```", TEXT, re.DOTALL):
        exec(compile(block, "the documentation", "exec"), {})
    assert "CONVERGED" in capsys.readouterr().out


def test_constants_named_in_the_text() -> None:
    from acvb_core.core.averaging import BURN_IN_TOLERANCE
    from acvb_core.core.spec import BURN_IN_CAP
    from acvb_core.engine.stopping import worst_case_sweeps
    from acvb_core.evaluate.split import MAX_ENTRIES
    from acvb_core.models.irm.spec import MOVES_EVERY, MOVES_FROM

    flat = " ".join(TEXT.split())
    assert f"{worst_case_sweeps(1e-5):,} sweeps for 1e-5" in flat
    assert f"less than {BURN_IN_TOLERANCE:.0e}".replace("e-0", "e-") in flat
    assert f"latest after {BURN_IN_CAP} sweeps" in flat
    assert f"After {MOVES_FROM} sweeps, and every {MOVES_EVERY} until" in flat
    assert f"At most {MAX_ENTRIES // 1_000_000} million entries" in flat
