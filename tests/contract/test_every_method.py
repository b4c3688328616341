"""What every method in the registry keeps to, whatever it is given: an answer that makes sense, the same each time."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from acvb_core.core.protocols import Algorithm, Posterior
from acvb_core.core.spec import MethodSpec
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import StopRun
from acvb_core.registry import METHODS, model_row
from tests.engine.fakes import all_snapshots, bits
from tests.engine.test_run import Counting, StopAt

from .cases import (
    CASES,
    arrays_in,
    bits_of,
    built,
    course,
    data_of,
    every_method,
    known,
    last_of,
    limited,
    name_of,
    through_a_file,
    usual,
    variations,
)


def assert_posterior(posterior: Posterior, row: MethodSpec, data: Any, swept: bool) -> None:
    """Check what holds for every model, then what its cases know."""
    assert set(posterior.axes) == set(posterior.arrays)
    clusters = posterior.n_clusters()
    assert set(clusters) == set(model_row(row.model).domains)
    assert all(k >= CASES[row.model].fewest for k in clusters.values())
    for name, array in posterior.arrays.items():
        assert np.isfinite(array).all(), name
        assert array.ndim == len(posterior.axes[name])
        for length, domain in zip(array.shape, posterior.axes[name], strict=True):
            assert domain is None or length == clusters[domain]
    assert set(posterior.derived) <= set(posterior.arrays) | set(clusters)
    assert not set(posterior.derived) & set(posterior.averaged)
    assert all(np.isfinite(value) and value > 0 for value in posterior.hyper.values())
    assert not row.streams or not set(posterior.arrays) & set(model_row(row.model).clusterings)
    CASES[row.model].check(posterior, data, swept)


def different_posteriors(algorithm: Algorithm, state: Any) -> list[Posterior]:
    """Give the posterior and the current one; where both have the same bits, only the first."""
    posterior, current = algorithm.posterior(state), algorithm.current(state)
    same = bits_of(posterior) == bits_of(current) and all(
        getattr(posterior, field.name) == getattr(current, field.name)
        for field in fields(posterior)
        if field.name not in ("arrays", "hyper")
    )
    return [posterior] if same else [posterior, current]


@cache
def each_data_set() -> list[tuple[MethodSpec, dict[str, Any], str]]:
    """Each method meets all data and all its settings, and each setting all data; not all three together."""
    every = [
        (row, values, name) for row in METHODS for values in variations(row) for name in data_of(row.model)
    ]
    chosen, met = [], set()
    for least in (3, 2, 1):  # first those in which the most meet for the first time
        for row, values, name in every:
            method, setting = name_of(row), f"{row.model} {values}"
            pairs = {(method, setting), (method, name), (setting, name)}
            if len(pairs - met) >= least:
                met |= pairs
                chosen.append((row, values, name))
    return chosen


@every_method
def test_any_data(row: MethodSpec) -> None:
    for one, values, name in each_data_set():
        if one is row:
            try:
                check_any_data(row, values, name)
            except Exception as error:
                error.add_note(f"with the data {name!r} and {values}")
                raise


def check_any_data(row: MethodSpec, values: dict[str, Any], name: str) -> None:
    data, cases = data_of(row.model)[name], CASES[row.model]
    algorithm, model = built(row, data, **values), model_row(row.model).build(data)
    everything, before = cases.everything(data), None
    # Moves in the first sweep and once more, and steps of all hyper-parameters.
    for state, info in course(algorithm, cases.whole, due=cases.due_for_moves):
        swept = info is not None
        given = algorithm.responsibilities(state)
        # The responsibilities are those of the posterior, and not of the current one.
        bound = model.lower_bound(algorithm.posterior(state), given)
        assert bound is None or bound < cases.most_evidence + 1e-3
        for posterior in different_posteriors(algorithm, state):
            assert_posterior(posterior, row, data, swept)
            bound = model.lower_bound(posterior, given)
            assert bound is None or np.isfinite(bound)
            loos = [model.pseudo_loo(posterior, responsibilities=one) for one in (given, None)]
            # Streams report it themselves: their posterior has no documents.
            assert [loo is None for loo in loos] == [row.streams or not cases.has_loo] * 2
            loos = [info.pseudo_loo if row.streams and info else loos[0], loos[1]]
            assert all(loo is None or np.isfinite(loo) for loo in loos)
            for one in (given, None):
                extras = model.extras(posterior, one, loos[0])
                assert all(np.isfinite(extra) or name in cases.approximate for name, extra in extras.items())
            cases.check_predictions(model.predict(posterior, everything), data)
        if info is not None:
            assert info.pseudo_loo is None or np.isfinite(info.pseudo_loo)
            assert info.change is None or 0 <= info.change <= 2 + 1e-5
            assert 0 < info.progress <= 1
        current = algorithm.current(state)
        if before is not None and info is not None and not (row.sampled or row.name == "meibp"):
            check_order(info.cluster_permutation, info.moves, before.n_clusters(), current.n_clusters())
        before = current
    for posterior in different_posteriors(algorithm, state):
        cases.check_tables(model.tables(posterior), data, posterior)


def check_order(order: Any, moves: Any, before: dict[str, int], after: dict[str, int]) -> None:
    """An order names the old clusters that are left, each once; without one nothing but a move changes their number."""
    if order is None:
        assert moves or before == after
        return
    for domain, clusters in order.items():
        assert len(set(clusters.tolist())) == len(clusters) == after[domain]
        assert set(clusters.tolist()) <= set(range(before[domain]))


@every_method
def test_any_number_of_clusters(row: MethodSpec) -> None:
    cases, data = CASES[row.model], usual(row)
    for place, sizes in enumerate(cases.sizes):
        for n, values in enumerate(variations(row)):
            # The first settings meet every number, each of the others every second one.
            if n and (place + n) % 2:
                continue
            # Splits may add clusters to those that a run begins with.
            algorithm = built(row, data, **sizes, **values, split=not n)
            for state, info in course(algorithm, cases.whole, due=cases.due_for_moves):
                assert_posterior(algorithm.posterior(state), row, data, info is not None)
            left = algorithm.posterior(state).n_clusters()
            if not row.sampled:
                most = dict(zip(left, sizes.values(), strict=True))
                most |= model_row(row.model).limits(data, {**sizes, **values, "split": not n})
                assert all(k <= most[domain] for domain, k in left.items())


@every_method
def test_fixed_hyper_parameters_stay(row: MethodSpec) -> None:
    cases, data = CASES[row.model], usual(row)
    values, said = cases.fixed
    if not said:
        return
    algorithm = built(row, data, **values)
    slack = 1e-7 if row.streams else 1e-12  # the concentrations of a stream are in single precision
    for state, _ in course(algorithm, 20, due=cases.due_for_moves if row.streams else None):
        assert algorithm.posterior(state).hyper == pytest.approx(said, rel=slack)
    learned = built(row, data, **cases.learned)
    last = learned.posterior(last_of(learned, 20, due=cases.due_for_moves if row.streams else None)).hyper
    changing = {name for name in said if not (row.streams and name == "beta")}
    assert all(last[name] != pytest.approx(said[name], rel=1e-3) for name in changing)


@every_method
def test_same_seed_gives_the_same_bits(row: MethodSpec) -> None:
    data = usual(row)
    chains = [{"init": "gibbs"} for one in row.parameters if one.name == "init" and one.default == "gibbs"]
    for values in [*variations(row), *chains]:
        runs = []
        for seed in (1, 1, 2):
            algorithm = built(row, data, **values)
            runs.append([bits_of(algorithm.posterior(state)) for state, _ in course(algorithm, 15, seed)])
        assert runs[0] == runs[1]
        assert runs[0][-1] != runs[2][-1]


@every_method
def test_sweep_leaves_the_given_state_and_the_data_as_they_were(row: MethodSpec) -> None:
    """Swept twice, a state gives the same bits, or is refused if its responsibilities were written over."""
    data, cases = usual(row), CASES[row.model]
    before_all = [array.copy() for array in cases.arrays(data)]
    refuses = row.model == "lda" and row.name.startswith(("cvb", "acvb"))
    for values in variations(row):
        algorithm = built(row, data, **values)
        state, kept = cases.due_for_moves(algorithm.init(np.random.default_rng(0))), []
        for sweep in range(20):  # merges and steps of the hyper-parameters included
            before = [array.copy() for array in arrays_in(state)]
            kept.append((state, bits_of(algorithm.posterior(state)), bits_of(algorithm.current(state))))
            new, _ = algorithm.sweep(state, np.random.default_rng(sweep))
            assert len(before) >= 2
            for array, copy in zip(arrays_in(state), before, strict=True):
                np.testing.assert_array_equal(array, copy)
            if refuses:
                with pytest.raises(ValueError, match=f"after sweep {sweep} was swept already"):
                    algorithm.sweep(state, np.random.default_rng(sweep))
            else:
                again, _ = algorithm.sweep(state, np.random.default_rng(sweep))
                assert [a.tobytes() for a in arrays_in(new)] == [a.tobytes() for a in arrays_in(again)]
            state = new
        # Not only by the sweep of the state itself, but by all that came after.
        for old, *bits_before in kept:
            assert [bits_of(algorithm.posterior(old)), bits_of(algorithm.current(old))] == bits_before
    for array, copy in zip(cases.arrays(data), before_all, strict=True):
        np.testing.assert_array_equal(array, copy)


@every_method
def test_an_interrupted_sweep_can_be_repeated(row: MethodSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short anywhere, in moves too, a sweep leaves what there was, and in the end gives the same bits."""
    for place in CASES[row.model].pieces:
        monkeypatch.setattr(place, lambda *_: 9)
    cases, data = CASES[row.model], usual(row)
    for values in variations(row):

        def started(values: dict[str, Any] = values) -> tuple[Algorithm, Any]:
            algorithm = built(row, data, **values)
            return algorithm, cases.due_for_moves(last_of(algorithm, 3))

        def after(algorithm: Algorithm, state: Any) -> Any:
            state, info = algorithm.sweep(state, np.random.default_rng(10))
            return bits_of(algorithm.posterior(state)), bits_of(algorithm.current(state)), info.change

        counting, (algorithm, state) = Counting(), started()
        wanted = after(algorithm, algorithm.sweep(state, np.random.default_rng(9), counting)[0])
        assert counting.calls >= 3, "a stop takes effect within a sweep"
        for first in np.unique(np.linspace(1, counting.calls, min(counting.calls, 12)).astype(int)):
            algorithm, state = started()
            before = bits_of(algorithm.posterior(state))
            for call in (first, max(first // 2, 1), 10 * counting.calls):
                with suppress(StopRun):
                    new, _ = algorithm.sweep(state, np.random.default_rng(9), StopAt(int(call)))
                    break
                assert bits_of(algorithm.posterior(state)) == before
                assert algorithm.phase(state) is not None
            assert after(algorithm, new) == wanted


@every_method
def test_an_interrupted_run_resumes_bit_for_bit(row: MethodSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in CASES[row.model].pieces:
        monkeypatch.setattr(place, lambda *_: 40)
    data = usual(row)
    given = limited(row, data, CASES[row.model].small | {"burn_in": 4, "tol": 1e-12}, 16)
    for values in variations(row):

        def prepared(values: dict[str, Any] = values) -> Any:
            own = known(row, given | values)
            return prepare_run(data, row.name, own, model=row.model, seed=3, heldout=0.1)

        counting = Counting()
        whole = [bits(s) for s in all_snapshots(prepared(), poll=counting)]
        assert len(whole) == 16
        for call in np.linspace(2, counting.calls, 4).astype(int):
            posed = prepared()
            first = all_snapshots(posed, poll=StopAt(int(call)))
            if first:
                rest = [bits(s) for s in all_snapshots(posed, resume=first[-1])]
                assert rest[-1] == whole[-1]
                assert len(rest) == max(16 - first[-1].sweep, 1)
        posed = prepared()
        part = all_snapshots(posed, max_sweeps=5)
        state, memory = through_a_file((part[-1].state, part[-1].memory))
        kept = replace(part[-1], state=state, memory=memory)
        part += all_snapshots(posed, resume=kept, max_sweeps=11)
        part += all_snapshots(posed, resume=part[-1])
        assert [s.sweep for s in part] == list(range(1, 17))
        assert bits(part[-1]) == whole[-1]
