"""What the curves of the Run page are drawn against, and what is said below them."""

from __future__ import annotations

from typing import Any

import pytest

from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from pages.ui.shared import services
from tests.engine.fakes import small_relation
from tests.pages.session import WORKSPACE, Open, texts


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    methods: dict[str, dict[str, Any]] = {"cvb0": {}, "acvb0": {}, "gibbs": {"burn_in": 2, "max_sweeps": 6}}
    return {name: fit(small_relation(), name, k_rows=4, k_cols=4, **more) for name, more in methods.items()}


@pytest.mark.parametrize(
    ("methods", "axis"), [(["cvb0", "acvb0"], "sweep"), (["cvb0", "gibbs"], "cpu_seconds")]
)
def test_sweeps_of_different_kinds_are_compared_by_cpu_time(
    methods: list[str], axis: str, results: dict[str, Result], open_app: Open
) -> None:
    for number, method in enumerate(methods):
        services.store().save(WORKSPACE, f"{number:012x}", 1e9 + number, results[method])
    app = open_app("run")
    (choice,) = (group for group in app.get("button_group") if str(group.key).startswith("x_axis"))
    assert choice.value == axis or choice.value == [axis]
    assert ("are identical in the first" in texts(app)) == (methods == ["cvb0", "acvb0"])
