"""The running mean: what it averages, what it leaves alone, and the bounds it is certain to keep."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acvb_core.core import averaging
from acvb_core.core.averaging import (
    BURN_IN_TOLERANCE,
    AveragedAlgorithm,
    AveragedState,
    SampleMean,
)
from acvb_core.core.clusters import match_clusters, renormalise
from acvb_core.core.protocols import Posterior, SweepInfo
from acvb_core.core.spec import BURN_IN_CAP
from tests.engine.fakes import DOMAINS, Script, Scripted, small_run, soft
from tests.loops import for_each


def states_of(algorithm: Any, sweeps: int, seed: int = 0) -> list[tuple[Any, SweepInfo | None]]:
    """Return the first state and the one after each sweep, each sweep with random numbers of its own."""
    state = algorithm.init(np.random.default_rng([seed, 0]))
    found: list[tuple[Any, SweepInfo | None]] = [(state, None)]
    for sweep in range(1, sweeps + 1):
        state, info = algorithm.sweep(state, np.random.default_rng([seed, sweep]))
        found.append((state, info))
    return found


def scripted_means(scripts: list[Script], burn_in: int) -> list[AveragedState]:
    method = AveragedAlgorithm(Scripted(scripts), burn_in)
    return [state for state, _ in states_of(method, len(scripts) - 1)]


def history(
    rng: np.random.Generator, sweeps: int, sizes: tuple[int, int] = (4, 3)
) -> list[dict[str, np.ndarray]]:
    """Return responsibilities of both domains before and after each sweep, cluster k the same one throughout."""
    return [{"rows": soft(rng, 9, sizes[0]), "cols": soft(rng, 7, sizes[1])} for _ in range(sweeps + 1)]


def relabelled(
    true: list[dict[str, np.ndarray]], rng: np.random.Generator
) -> tuple[list[Script], list[dict[str, np.ndarray]]]:
    """Return the history with its clusters shuffled in every sweep, as a sweep says it, and where each one is."""
    places = [{name: np.arange(true[0][name].shape[1]) for name in DOMAINS}]
    scripts = [Script(**true[0])]
    for q in true[1:]:
        order = {name: rng.permutation(q[name].shape[1]) for name in DOMAINS}
        places.append({name: places[-1][name][order[name]] for name in DOMAINS})
        scripts.append(Script(**{name: q[name][:, places[-1][name]] for name in DOMAINS}, order=order))
    return scripts, places


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_averaging_and_relabelling_commute(seed: int, burn_in: int) -> None:
    rng = np.random.default_rng(seed)
    true = history(rng, 8)
    scripts, places = relabelled(true, rng)
    plain = scripted_means([Script(**q) for q in true], burn_in)
    moved = scripted_means(scripts, burn_in)
    for sweep in range(burn_in + 1, 9):
        assert plain[sweep].samples == sweep - burn_in
        wanted = np.mean([q["rows"] for q in true[burn_in + 1 : sweep + 1]], axis=0)
        np.testing.assert_allclose(plain[sweep].mean["rows"], wanted, atol=1e-14)
        assert moved[sweep].change == pytest.approx(plain[sweep].change) or plain[sweep].change is None
        for name in DOMAINS:
            np.testing.assert_allclose(
                moved[sweep].mean[name], plain[sweep].mean[name][:, places[sweep][name]], atol=1e-14
            )


def test_quantities_of_a_sample_are_no_part_of_the_mean(rng: np.random.Generator) -> None:
    method = AveragedAlgorithm(Scripted([Script(**q) for q in history(rng, 3)]), 2)
    for sweep, (state, _) in enumerate(states_of(method, 3)):
        posterior = method.posterior(state)
        assert ("ones" in posterior.arrays) == (sweep <= 2)
        assert set(posterior.axes) == set(posterior.arrays)
        assert method.phase(state) == (sweep <= 2, max(sweep - 2, 0), state.change)


def test_restarts_when_a_cluster_is_dropped(rng: np.random.Generator) -> None:
    true = history(rng, 8)
    keep = np.array([2, 0, 3])
    scripts = [Script(**q) for q in true[:5]]
    for at, q in enumerate(true[5:]):
        order = {"rows": keep, "cols": np.arange(3)} if at == 0 else None
        scripts.append(Script(renormalise(q["rows"][:, keep]), q["cols"], order))
    states = scripted_means(scripts, 1)
    assert [state.samples for state in states] == [0, 0, 1, 2, 3, 1, 2, 3, 4]
    assert states[5].change is None
    for name in DOMAINS:
        wanted = np.mean([getattr(script, name) for script in scripts[5:]], axis=0)
        np.testing.assert_allclose(states[8].mean[name], wanted)


class Slowing(Scripted):
    """Sweeps that say how far they moved."""

    def __init__(self, scripts: list[Script], changes: list[float]) -> None:
        super().__init__(scripts)
        self.changes = changes

    def sweep(self, state: int, rng: np.random.Generator, *given: Any) -> tuple[int, SweepInfo]:
        after, info = super().sweep(state, rng, *given)
        return after, info._replace(change=self.changes[after])


def test_begins_again_when_sweeps_move_ten_times_less(rng: np.random.Generator) -> None:
    """From the sweep that does, ever slower. One that is still settling does not count."""
    changes = [0.0, 5e-4, 4e-4, 4e-5, 5e-5, 5e-5, 3e-6, 3e-6, 4e-7]
    scripts = [Script(**q, not_stationary=n == 6) for n, q in enumerate(history(rng, 8))]
    method = AveragedAlgorithm(Slowing(scripts, changes), renew=0.1)
    found = [state for state, _ in states_of(method, 8)]
    assert [state.samples for state in found] == [0, 1, 2, 1, 2, 3, 4, 1, 2]
    np.testing.assert_array_equal(found[7].mean["rows"], scripts[7].rows)


def moving(step: float) -> list[Script]:
    """Return responsibilities that change by `step` (L1, every object) in each sweep, to and fro."""
    one = np.array([[0.6, 0.4], [0.3, 0.7]])
    other = one + np.array([[step, -step]]) / 2
    return [Script((one, other)[n % 2], (one, other)[n % 2]) for n in range(BURN_IN_CAP + 5)]


def test_automatic_burn_in_ends_when_settled() -> None:
    shaking, calm = moving(10 * BURN_IN_TOLERANCE), moving(BURN_IN_TOLERANCE / 2)
    scripts = [*shaking[:7], *[Script(shaking[6].rows, shaking[6].cols)], *calm[:3]]
    assert [state.samples for state in scripted_means(scripts, 0)][:8] == [0] * 7 + [1]
    assert scripted_means(calm, 0)[1].samples == 1


def test_automatic_burn_in_ends_at_its_cap_if_moves_are_over() -> None:
    scripts = moving(2 * BURN_IN_TOLERANCE)
    samples = [state.samples for state in scripted_means(scripts, 0)]
    assert samples == [max(n - BURN_IN_CAP, 0) for n in range(len(scripts))]
    not_stationary = [replace(script, not_stationary=True) for script in scripts]
    assert not any(state.samples for state in scripted_means(not_stationary, 0))


@for_each("factor, begin", [(0.5, 16), (0.7, 28), (0.76, 5)])
def test_automatic_burn_in_of_a_mean_that_can_begin_again_ends_where_nothing_settles(
    factor: float, begin: int
) -> None:
    """Changes that fall by a factor in four sweeps: by less than a quarter, and the mean starts with the next look."""
    one, step = np.array([[0.6, 0.4], [0.3, 0.7]]), np.array([[1.0, -1.0]]) / 2
    scripts = [Script(one, one)]
    for n in range(1, 40):
        q = scripts[-1].rows + (-1) ** n * 0.01 * factor ** (n // 4) * step
        scripts.append(Script(q, q))
    method = AveragedAlgorithm(Scripted(scripts), 0, renew=0.1)
    samples = [state.samples for state, _ in states_of(method, 30)]
    assert samples == [max(n - begin + 1, 0) for n in range(31)]
    # Changes of before a move do not count.
    moved = [replace(script, moves={"split": 1} if n == 4 else None) for n, script in enumerate(scripts)]
    samples = [state.samples for state, _ in states_of(replace(method, inner=Scripted(moved)), 8)]
    assert samples == [0] * 8 + [int(factor > 0.75)]


@for_each("burn_in", [0, 3])
def test_burn_in_begins_again_after_a_move(rng: np.random.Generator, burn_in: int) -> None:
    """A cluster that is merged while another is split leaves the widths as they were."""
    q = history(rng, 0)[0]
    scripts = [Script(**q, moves={"merged": 1, "split": 1} if n == 5 else None) for n in range(12)]
    samples = [state.samples for state in scripted_means(scripts, burn_in)]
    if burn_in:
        assert samples == [0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3]
    else:  # it has settled at once
        assert samples == [0, 1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7]


def assert_lemmas(before: AveragedState, after: AveragedState, info: SweepInfo) -> float:
    """Check ACVB17 Lemma 1 (L1, every object and the mean over them) and Lemma 3 (L2); return s * change."""
    s = after.samples
    assert after.change is not None
    assert after.change <= 2.0 / s * (1 + 1e-14)  # exact, but for the last bits of the sums
    after_sweep = Posterior(after.mean, {name: (None, name) for name in DOMAINS}, averaged=DOMAINS)
    old = averaging.align_arrays(before.mean, info.cluster_permutation, after_sweep)
    changes = []
    for name in DOMAINS:
        difference = after.mean[name] - old[name]
        changes.append(np.abs(difference).sum(axis=1))
        assert changes[-1].max() <= 2.0 / s * (1 + 1e-14)
        assert np.linalg.norm(difference, axis=1).max() <= np.sqrt(2.0) / s * (1 + 1e-14)
    assert after.change == pytest.approx(np.concatenate(changes).mean(), abs=1e-15)
    return s * after.change


@for_each("method", ["acvb0", "acvb"])
@for_each("options", [{"burn_in": 1, "init": "random"}, {"burn_in": 0}])
def test_lemmas_1_and_3_hold_in_every_sweep(method: str, options: dict[str, Any]) -> None:
    algorithm = small_run(method, **options).algorithm
    states = states_of(
        algorithm, 120
    )  # moves between the early sweeps put off an average that begins by itself
    checked = 0
    for (before, _), (after, info) in zip(states[:-1], states[1:], strict=True):
        if after.samples > 1:
            assert_lemmas(before, after, info)
            checked += 1
    assert checked > 20


@for_each("averaged, plain", [("acvb0", "cvb0"), ("acvb", "cvb")])
def test_averaging_never_feeds_back(averaged: str, plain: str) -> None:
    both = states_of(small_run(averaged, burn_in=1).algorithm, 25), states_of(small_run(plain).algorithm, 25)
    for (state, _), (alone, _) in zip(*both, strict=True):
        for name, q in alone.q.items():
            assert state.inner.q[name].tobytes() == q.tobytes()
        assert state.inner.hyper.a.tobytes() == alone.hyper.a.tobytes()


def one_hot(labels: list[int], n_clusters: int) -> np.ndarray:
    return np.eye(n_clusters)[labels]


def test_matching_births_and_deaths() -> None:
    mean = one_hot([0, 0, 1, 1, 2, 2], 3)
    # Cluster 2 has joined cluster 0, and a cluster is born from object 3.
    sample = one_hot([1, 1, 0, 2, 1, 1], 3)
    wide, named = match_clusters(mean, sample)
    # Of the mean's clusters the born one overlaps only with 1, which object 2's cluster can claim as well.
    assert wide.shape == named.shape == (6, 4)
    np.testing.assert_array_equal(wide[:, :3], mean)
    np.testing.assert_array_equal(wide[:, 3], 0.0)
    np.testing.assert_array_equal(named[:, 0], [1, 1, 0, 0, 1, 1])
    assert sorted(named.sum(axis=0)) == [0, 1, 1, 4]
    np.testing.assert_array_equal(named.sum(axis=1), 1.0)


class Samples(Scripted):
    """Scripted samples of one clustering of rows and columns."""

    def __init__(self, rows: list[list[int]]) -> None:
        widths = [max(labels) + 1 for labels in rows]
        both = [one_hot(labels, width) for labels, width in zip(rows, widths, strict=True)]
        super().__init__([Script(q, q) for q in both])


def sample_mean(rows: list[list[int]], burn_in: int) -> np.ndarray:
    method = SampleMean(Samples(rows), burn_in)
    state, _ = states_of(method, len(rows) - 1)[-1]
    return method.posterior(state)["rows"]


def test_a_cluster_that_hardly_ever_was_is_left_out_of_the_answer() -> None:
    usual = [0, 0, 0, 1, 1]
    answer = sample_mean([usual, usual, [0, 0, 2, 1, 1], usual, usual], 0)
    # It held a quarter of an object on average.
    np.testing.assert_allclose(answer, one_hot(usual, 2))
