"""Results in a file, and read from it: an archive that the Runs page can import as well."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from acvb_core.core.scratch import scratch_prefix
from acvb_core.core.versions import describe_process
from acvb_core.engine.fitting import Comparison
from acvb_core.engine.prepared import RunLabel, clean_name
from acvb_core.engine.result import Result
from acvb_core.store.archives.contents import FAULTS, OpenArchive
from acvb_core.store.archives.form import no_archive
from acvb_core.store.archives.reading import read_contents
from acvb_core.store.archives.writing import write_archive
from acvb_core.store.files import DAMAGE, StoreError, replace_file
from acvb_core.store.runs import RunStore


def save_results(path: str | Path, results: Sequence[Result]) -> None:
    """Write results and their data, each data set once; what is at `path` is replaced once all is written.

    Raises StoreError: the file cannot be written, or the data are kept on disk and are too many for it.
    """
    with TemporaryDirectory(prefix=scratch_prefix()) as place:
        store = RunStore(Path(place) / "store")
        labels = {}
        for number, result in enumerate(results):
            store.save("file", f"run{number}", time.time(), result)
            labels[f"run{number}"] = RunLabel(clean_name(result.label))
        with replace_file(Path(path)) as file:
            left_out = write_archive(store, labels, file, describe_process()["acvb_core"])
            if left_out:
                raise StoreError(f"{path} was not written. {next(iter(left_out.values()))}")


def load_results(path: str | Path) -> list[Result]:
    """Return all results of a file, in the order in which they were saved.

    Raises StoreError: the file is missing, damaged, no archive of runs, or of a newer version; or it has a run that did
      no sweep.
    """
    try:
        with zipfile.ZipFile(path) as archive, TemporaryDirectory(prefix=scratch_prefix()) as place:
            manifest = read_contents(archive, str(path))
            opened = OpenArchive(archive, manifest, Path(place), lambda: None)
            found = []
            for entry in manifest.runs:
                try:
                    run, _ = opened.read_run(entry.job_id)
                except FAULTS as error:
                    raise StoreError(f"{path}: {opened.explain(error)}") from error
                if not isinstance(run, Result):
                    raise StoreError(
                        f"{path}: the run {entry.label.name!r} did no sweep, so it has no result."
                    )
                found.append(replace(run, name=entry.label.name))
            return found
    except FileNotFoundError:
        raise StoreError(
            f"{path} does not exist. Give a file that Result.save or the Runs page wrote."
        ) from None
    except (OSError, *DAMAGE) as error:
        raise no_archive(str(path), f"it is no zip file, or is cut short ({error})") from error


def load_result(path: str | Path) -> Result:
    """Return the result that `Result.save` wrote to a file.

    Parameters
    ----------
    path : str or Path
        Of the file; an archive of one run, as the Runs page gives it, is one too.

    Returns
    -------
    Result
        With its data, diagnostics and answer, bit for bit as it was saved.

    Raises
    ------
    StoreError
        The file is missing, damaged or no archive of runs, or it has several runs (`load_comparison`).

    Examples
    --------
    >>> import acvb_core
    >>> result = acvb_core.fit(acvb_core.load_sample("karate").relation, k_rows=4)
    >>> result.save("karate.acvb")  # doctest: +SKIP
    >>> acvb_core.load_result("karate.acvb").to_dict() == result.to_dict()  # doctest: +SKIP
    True
    """
    results = load_results(path)
    if len(results) != 1:
        raise StoreError(
            f"{path} has {len(results):,} runs, not one. Read them with load_comparison, or import the file on the "
            "Runs page."
        )
    return results[0]


def load_comparison(path: str | Path) -> Comparison:
    """Return the comparison that `Comparison.save` wrote to a file, or the runs of any archive; errors as above."""
    return Comparison(load_results(path))
