"""Tests of reading NumPy's files in several threads."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from acvb_core.data.disk import load_array
from acvb_core.store.files import read_npz
from tests.loops import for_each


class Rubbish:
    """What only the collector clears away; other threads continue meanwhile."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        time.sleep(1e-4)


@pytest.fixture
def collect_often() -> Iterator[None]:
    usual = gc.get_threshold()
    gc.set_threshold(5)
    yield
    gc.set_threshold(*usual)


@pytest.mark.usefixtures("collect_often")
@for_each(
    "read", [lambda folder: load_array(folder, "a.npy"), lambda folder: read_npz(folder / "a.npz")["a"]]
)
def test_threads_read_arrays_while_rubbish_is_collected(
    read: Callable[[Path], np.ndarray], tmp_path: Path
) -> None:
    """Before Python 3.11.8, a header that is read while another thread reads one raises SystemError."""
    numbers = np.arange(10)
    np.save(tmp_path / "a.npy", numbers)
    np.savez(tmp_path / "a.npz", a=numbers)

    def read_many(_: int) -> None:
        for _ in range(100):
            Rubbish()
            assert (read(tmp_path) == numbers).all()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(read_many, range(4)))
