"""The mean of samples: features keep their names however they are numbered, turned, born and dropped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from acvb_core.core.protocols import Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.models.lfm.ibp import FeatureMean
from acvb_core.models.lfm.state import AXES

N, D = 40, 5
RNG = np.random.default_rng(0)
Z = np.stack([np.arange(N) % 2, np.arange(N) % 5 == 0, np.arange(N) < 13], axis=1).astype(float)
W = RNG.normal(size=(3, D)) * 2
BIAS = RNG.normal(size=D)


def sample(z: np.ndarray, w: np.ndarray, bias: np.ndarray, noise: float = 0.5) -> Posterior:
    arrays = {
        "objects": z,
        "weights": w,
        "pi": z.mean(axis=0),
        "bias": bias,
        "precision": np.full(D, 1 / noise),
        "weight_variance": np.full(w.shape, 0.01),
    }
    return Posterior(arrays, AXES, ("objects",), hyper={"noise": noise**0.5}, normalised=False)


@dataclass(frozen=True)
class Given(UnaveragedMethod):
    """A sampler whose samples are known beforehand; its state is the number of the sample."""

    samples: tuple[Posterior, ...]

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> int:
        return -1

    def sweep(self, state: int, rng: np.random.Generator, poll: Poll = no_poll) -> tuple[int, SweepInfo]:
        return state + 1, SweepInfo(None, None)

    def posterior(self, state: int) -> Posterior:
        return self.samples[state]


def answer(*samples: Posterior, burn_in: int = 0) -> Posterior:
    method = FeatureMean(Given(samples), burn_in)
    rng = np.random.default_rng(0)
    state = method.init(rng)
    for _ in samples:
        state, _ = method.sweep(state, rng)
    return method.posterior(state)


def turned(z: np.ndarray, w: np.ndarray, bias: np.ndarray, k: int) -> Posterior:
    z, w = z.copy(), w.copy()
    bias = bias + w[k]
    z[:, k], w[k] = 1 - z[:, k], -w[k]
    return sample(z, w, bias)


def predicted(posterior: Posterior) -> np.ndarray:
    return posterior["objects"] @ posterior["weights"] + posterior["bias"]


def test_order_and_side_of_features_do_not_matter() -> None:
    order = [2, 0, 1]
    found = answer(
        sample(Z, W, BIAS), turned(Z, W, BIAS, 1), sample(Z[:, order], W[order], BIAS), turned(Z, W, BIAS, 0)
    )
    by_share = np.argsort(-Z.mean(axis=0))
    np.testing.assert_allclose(found["objects"], Z[:, by_share], atol=1e-12)
    np.testing.assert_allclose(found["weights"], W[by_share], atol=1e-12)
    np.testing.assert_allclose(found["bias"], BIAS, atol=1e-12)
    np.testing.assert_allclose(found["weight_variance"], 0.01, atol=1e-12)
    np.testing.assert_allclose(found["precision"], 2.0)


def test_activations_and_weights_are_means_over_samples() -> None:
    other = Z.copy()
    other[3, 0] = 1 - other[3, 0]
    found = answer(sample(Z, W, BIAS, 0.5), sample(other, W + 0.2, BIAS, 1.5))
    np.testing.assert_allclose(found["objects"][3, 0], 0.5)
    np.testing.assert_allclose(found["weights"][0], W[0] + 0.1)
    np.testing.assert_allclose(found["weight_variance"], 0.01 + 0.1**2)
    np.testing.assert_allclose(found["precision"], 1.0)


def test_rare_feature_is_left_out_and_its_mean_kept_in_the_baseline() -> None:
    extra = (np.arange(N)[:, None] % 7 == 3).astype(float)
    with_more = sample(np.hstack([Z, extra]), np.vstack([W, np.full(D, 4.0)]), BIAS)
    usual = sample(Z, W, BIAS)
    found = answer(usual, with_more, usual, usual)
    assert found.n_clusters() == {"features": 3}
    wanted = predicted(usual).mean(axis=0) + 0.25 * extra.mean() * 4.0
    np.testing.assert_allclose(predicted(found).mean(axis=0), wanted)
    np.testing.assert_allclose(found["weights"][0], W[0])


def test_samples_without_features_and_burn_in() -> None:
    none = sample(np.zeros((N, 0)), np.zeros((0, D)), BIAS)
    assert answer(none, none, none)["objects"].shape == (N, 0)
    np.testing.assert_allclose(answer(none, none)["bias"], BIAS)
    found = answer(none, none, sample(Z, W, BIAS), burn_in=2)
    assert found.n_clusters() == {"features": 3}
    assert answer(none, sample(Z, W, BIAS), burn_in=2).n_clusters() == {"features": 3}  # the sample itself
