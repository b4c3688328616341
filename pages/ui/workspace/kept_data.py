"""Data sets of a workspace in the store: the one used last, and those put aside until they are removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acvb_core.data.report import Fact, ReadReport
from acvb_core.store.files import StoreError
from pages.ui.shared import services
from pages.ui.workspace.dataset import MOST_HELD_OUT, MOST_SEED, Dataset, usual_share


def keep_last_used(key: str, dataset: Dataset, before: Dataset | None) -> None:
    """Keep the data set that is used from now on for the next start, and put the one before aside.

    `data_problems` says which of them could not be kept, and why.
    """
    # The one before comes first, so that its files never have no owner.
    if before is not None and before.data.fingerprint != dataset.data.fingerprint:
        _try_to_keep(key, before, name_owner_aside(key, before.data.fingerprint))
    _try_to_keep(key, dataset, key)
    services.data_problems().pop(key, None)  # choosing data replaces a damaged copy


def read_last_used(key: str) -> Dataset | None:
    """Return the data set that was used last; `data_problems` says why it could not be read."""
    return _try_to_read(key)


def put_aside(key: str, dataset: Dataset) -> None:
    """Keep a data set that is not in use.

    Raises StoreError: it cannot be kept.
    """
    _keep(name_owner_aside(key, dataset.data.fingerprint), dataset)


def read_data_aside(key: str, fingerprint: str) -> Dataset | None:
    """Return a data set that was put aside; `data_problems` says why it could not be read."""
    return _try_to_read(name_owner_aside(key, fingerprint))


def name_data_aside(key: str) -> dict[str, str]:
    """Return the names of the data sets that a workspace has put aside, by fingerprint; none of them is read."""
    beginning = name_owner_aside(key)
    kept = services.store().find_settings(beginning)
    return {owner.removeprefix(beginning): str(how.get("name", "data")) for owner, how in kept.items()}


def remove_data(key: str, fingerprint: str) -> None:
    """Remove a data set, used last or put aside, from memory and disk; its file stays with the runs that have it.

    Raises StoreError: its file cannot be removed.
    """
    services.store().forget_dataset(name_owner_aside(key, fingerprint))
    services.data_problems().pop(name_owner_aside(key, fingerprint), None)
    now = services.datasets().get(key)
    if now is not None and now.data.fingerprint == fingerprint:
        services.store().forget_dataset(key)
        services.datasets()[key] = None
    services.used_datasets().get(key, {}).pop(fingerprint, None)


def find_owner(key: str, fingerprint: str) -> str:
    """Return the name under which the store has a data set of a workspace, used last or put aside."""
    now = services.datasets().get(key)
    return (
        key if now is not None and now.data.fingerprint == fingerprint else name_owner_aside(key, fingerprint)
    )


def name_owner_aside(key: str, fingerprint: str = "") -> str:
    """Return the name of a data set put aside, in place of a workspace's; the beginning of all such names."""
    return f"{key} {fingerprint}"


def _keep(owner: str, dataset: Dataset) -> None:
    settings = {
        "name": dataset.name,
        "source": dataset.report.source,
        "heldout": dataset.heldout,
        "heldout_seed": dataset.heldout_seed,
        "whole_documents": dataset.whole_documents,
    }
    services.store().save_dataset(owner, dataset.data, dataset.report.lines(), settings)


def _try_to_keep(key: str, dataset: Dataset, owner: str) -> None:
    problems, name = services.data_problems(), name_owner_aside(key, dataset.data.fingerprint)
    problems.pop(name, None)
    try:
        _keep(owner, dataset)
    except StoreError as error:
        problems[name] = str(error)


def _try_to_read(owner: str) -> Dataset | None:
    problems = services.data_problems()
    if owner in problems:  # it is not read again and again: a page asks for it several times
        return None
    try:
        stored = services.store().load_dataset(owner)
        return None if stored is None else build_dataset(*stored)
    except StoreError as error:
        problems[owner] = str(error)
        return None


def build_dataset(data: Any, lines: Sequence[str], settings: Mapping[str, Any]) -> Dataset:
    """Return a data set out of what the store, or an archive, has of it.

    Raises StoreError: a setting is out of its range.
    """
    name = str(settings.get("name", data.name))
    facts = tuple(Fact("stored", 0, line) for line in lines)
    share, seed = float(settings.get("heldout", usual_share(data))), int(settings.get("heldout_seed", 0))
    if not (0 <= share <= MOST_HELD_OUT and 0 <= seed <= MOST_SEED):
        raise StoreError("The settings of these data are damaged. Load the data again.")
    return Dataset(
        data,
        ReadReport(str(settings.get("source", name)), facts),
        name,
        share,
        seed,
        bool(settings.get("whole_documents", False)),
    )
