"""Runs a command in this process; an argument may hold several flags and their values."""

from __future__ import annotations

import pytest

from acvb_core.cli import main
from tests.cli.support import Outcome, Run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def runner(*arguments: object) -> Outcome:
        words = [one.split() if one.startswith("--") else [one] for one in map(str, arguments)]
        code = main([word for some in words for word in some])
        return Outcome(code, *capsys.readouterr())

    return runner
