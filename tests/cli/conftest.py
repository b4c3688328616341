"""Runs a command in this process."""

from __future__ import annotations

import pytest

from acvb_core.cli import main
from tests.cli.support import Outcome, Run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def runner(*arguments: object) -> Outcome:
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return runner
