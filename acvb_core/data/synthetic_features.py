"""Tables drawn from known latent features: what inference should find again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.table import Table
from acvb_core.data.tables.image import Image
from acvb_core.errors import ParameterError

#: The blocks, each in its quarter of a picture of 6 x 6 pixels.
_BLOCKS = """
.#. ...  ... ###  ... ...  ... ...
### ...  ... #.#  ... ...  ... ...
.#. ...  ... ###  ... ...  ... ...
... ...  ... ...  #.. ...  ... ###
... ...  ... ...  ##. ...  ... .#.
... ...  ... ...  ### ...  ... .#.
"""
BLOCK_SIDE = 6


@dataclass(frozen=True, eq=False)
class PlantedFeatures:
    """A table and the truth it was drawn from.

    Attributes
    ----------
    table : Table, shape (n_rows, n_columns)
    activations : float64 array, shape (n_rows, n_features)
        1 where a row has a feature, else 0.
    weights : float64 array, shape (n_features, n_columns)
        What a feature adds to the columns of a row that has it, in the table's units.
    """

    table: Table
    activations: NDArray[np.float64]
    weights: NDArray[np.float64]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.weights)


def planted_features(
    n_rows: int,
    n_columns: int,
    n_features: int,
    *,
    share: float = 0.5,
    noise: float = 1.0,
    seed: int = 0,
    name: str = "planted features",
) -> PlantedFeatures:
    """Draw a table from the latent feature model.

    Each row has each feature with probability `share`, independently; weights are standard normal, and every cell
    is the sum of its row's features' weights and normal noise.

    Parameters
    ----------
    n_rows, n_columns, n_features : int
    share : float
        Between 0 and 1.
    noise : float
        Standard deviation of the noise, above 0.
    seed : int

    Raises
    ------
    ParameterError
        A size below 1 (of the rows: 2), a share outside (0, 1), noise that is not above 0, or a negative seed.

    References
    ----------
    Hayashi, Fujimaki, *Factorized Asymptotic Bayesian Inference for Latent Feature Models*, NIPS 26, 2013, §6.1:
    30 columns, 5 features, share 0.5, noise 1.
    """
    _check(n_rows, n_columns, n_features, share, noise, seed)
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((n_features, n_columns))
    return _drawn(weights, n_rows, share, noise, rng, [f"x{i + 1}" for i in range(n_columns)], name, None)


def block_images(
    n_rows: int = 1_000, *, noise: float = 0.3, seed: int = 0, name: str = "block images"
) -> PlantedFeatures:
    """Draw pictures of 6 x 6 pixels that are sums of four blocks, each there with probability 0.5.

    The blocks (a cross, a frame, a triangle, a T) overlap nowhere; their pixels are 1, the others 0, and normal
    noise is added. The columns are "r1c1" (the first pixel of the first row), "r1c2", …

    Parameters
    ----------
    n_rows : int
        Number of pictures.
    noise : float
        Standard deviation of the noise, above 0.
    seed : int

    Raises
    ------
    ParameterError
        Fewer than 2 rows, noise that is not above 0, or a negative seed.

    References
    ----------
    Griffiths, Ghahramani, *Infinite latent feature models and the Indian buffet process*, NIPS 18, 2006, §6.
    """
    weights = _blocks()
    _check(n_rows, weights.shape[1], len(weights), 0.5, noise, seed)
    rng = np.random.default_rng(seed)
    columns = [f"r{row + 1}c{column + 1}" for row, column in np.ndindex(BLOCK_SIDE, BLOCK_SIDE)]
    return _drawn(weights, n_rows, 0.5, noise, rng, columns, name, Image.whole(BLOCK_SIDE, BLOCK_SIDE))


def _blocks() -> NDArray[np.float64]:
    lines = [line.split("  ") for line in _BLOCKS.strip().splitlines()]
    pictures = ["".join(line[block].replace(" ", "") for line in lines) for block in range(4)]
    return np.array([[float(pixel == "#") for pixel in picture] for picture in pictures])


def _drawn(
    weights: NDArray[np.float64],
    n_rows: int,
    share: float,
    noise: float,
    rng: np.random.Generator,
    columns: list[str],
    name: str,
    image: Image | None,
) -> PlantedFeatures:
    activations = (rng.random((n_rows, len(weights))) < share).astype(np.float64)
    values = activations @ weights
    values += noise * rng.standard_normal(values.shape)
    table = Table.build(values, columns=columns, name=name, image=image)
    return PlantedFeatures(table, activations, weights)


def _check(n_rows: int, n_columns: int, n_features: int, share: float, noise: float, seed: int) -> None:
    if n_rows < 2 or min(n_columns, n_features) < 1:
        raise ParameterError(
            f"There must be at least 2 rows, 1 column and 1 feature, not {n_rows}, {n_columns}, {n_features}."
        )
    if not 0 < share < 1:
        raise ParameterError(f"The share must be between 0 and 1, not {share}.")
    if not (math.isfinite(noise) and noise > 0):
        raise ParameterError(f"The noise must be above 0, not {noise}.")
    if seed < 0:
        raise ParameterError(f"Seeds must be at least 0, not {seed}.")
