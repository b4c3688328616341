"""FILE as a stream, a path with a tilde or an address."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path

import pytest

from tests.cli.support import SMALL, Run
from tests.loops import for_each

EDGES = b"person,event\nAnn,Fair\nBob,Fair\nBob,Ball\nCid,Ball\nAnn,Hunt\n"
TEXTS = b"bird cat dog\ncat dog fox\nfox gnu hen\nhen bird gnu\n" * 4
TABLE = b"a,b\n1,2\n2,1\n3,5\n4,4\n"

KINDS = {
    "relation": (EDGES, SMALL),
    "corpus": (TEXTS, ("--model", "lda", "--k", "2", "--max-sweeps", "3")),
    "corpus on disk": (TEXTS, ("--model", "lda", "--method", "svb", "--k", "2", "--epochs", "1")),
    "table": (TABLE, ("--model", "lfm", "--max-sweeps", "3")),
}


@for_each("kind", list(KINDS))
def test_standard_input_is_read(kind: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    content, flags = KINDS[kind]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    found = run("fit", "-", "--json", "--quiet", *flags)
    assert found.code == 0, found.err
    assert found.json["data"]["name"] == "stdin"


def test_a_pipe_is_read_once_and_looked_at_twice(run: Run, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(TEXTS,))
    writer.start()
    found = run("fit", pipe, "--json", "--quiet", *KINDS["corpus"][1])
    writer.join()
    assert found.code == 0, found.err
    assert found.json["data"]["name"] == "pipe"


def test_a_tilde_and_an_address(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "edges.csv").write_bytes(EDGES)
    assert run("fit", "~/edges.csv", "--quiet", *SMALL).code == 0
    for command in (["fit"], ["compare"], ["read"], ["fit", "--model", "lda"], ["fit", "--model", "lfm"]):
        more = ["out"] if command == ["read"] else []
        found = run(*command, "https://example.org/a.csv", *more)
        assert found.code == 2
        told = "nothing is fetched from an address. Download the file and give its path."
        assert found.err == f"acvb: https://example.org/a.csv: {told}\n"
