"""Whether a run can go on from a state whose responsibilities the next sweep may have taken over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acvb_core.data.corpus import Corpus
from acvb_core.engine.problem import build_problem


class EnoughError(Exception):
    """Raised to cut a sweep short."""


@pytest.mark.parametrize("method", ["cvb0", "acvb0"])
def test_only_a_state_that_has_its_responsibilities_can_be_kept(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acvb_core.models.lda.state.chunk_pairs", lambda *_: 40)
    corpus = Corpus.build(np.random.default_rng(0).poisson(0.5, (30, 20)))
    inference: Any = build_problem(corpus, method, {"k": 3}).inference
    first = inference.init(np.random.default_rng(0))
    calls = iter(range(3))

    def stop() -> None:
        if next(calls, None) is None:
            raise EnoughError

    assert inference.can_keep(first)
    with pytest.raises(EnoughError):
        inference.sweep(first, np.random.default_rng(1), stop)
    assert inference.can_keep(first), "a sweep that was cut short goes on from there"
    second, _ = inference.sweep(first, np.random.default_rng(1))
    assert inference.can_keep(second)
    assert not inference.can_keep(first)
