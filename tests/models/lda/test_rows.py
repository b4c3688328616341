"""Settings of the topics' methods that only make sense together."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.averaging import AveragedAlgorithm
from acvb_core.core.errors import ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.engine.prepared import prepare_run
from acvb_core.registry import methods_of

CORPUS = Corpus.build(np.array([[1, 2], [3, 0]]))


@pytest.mark.parametrize("method", [row.name for row in methods_of("lda")])
def test_alpha_is_shared_out_or_given_and_never_next_to_nothing(method: str) -> None:
    for given, expected in ((0.0, 5.0 / 4), (0.3, 0.3)):
        algorithm = prepare_run(CORPUS, method, {"k": 4, "alpha": given}).algorithm
        start = (algorithm.inner if isinstance(algorithm, AveragedAlgorithm) else algorithm).start
        np.testing.assert_allclose(start.alpha, expected)
    with pytest.raises(ParameterError, match=r"0, for 5 / k, or at least 0\.0001"):
        prepare_run(CORPUS, method, {"alpha": 1e-30})


def test_what_is_learned_every_few_sweeps_is_no_setting_of_a_stream() -> None:
    settings = {row.name: {p.name: p.choices for p in row.parameters} for row in methods_of("lda")}
    learning = {name for name, choices in settings.items() if "minka" in choices.get("hyper", ())}
    assert learning == {row.name for row in methods_of("lda") if not row.streams}
    for row in methods_of("lda"):
        assert len(settings[row.name]) == len(row.parameters), "no name twice"
