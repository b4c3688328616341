"""A search for better steps in a folder: its plan, a line for every trial that is over, and the run of the best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.engine.fitting import solve
from acvb_core.engine.result import Result
from acvb_core.engine.run import StopRun
from acvb_core.engine.tuning import Search, Trial, Tuning, rebuild_search
from acvb_core.store.codecs import MOST_SECONDS, is_number
from acvb_core.store.files import remove_file
from acvb_core.store.results import read_result, write_result
from acvb_core.store.studies.study_folder import StudyFolder

#: File of the run of a trial, by the trial's number.
_RUN = "trial-{}.npz"


class SearchFolder(StudyFolder[Search, Tuning]):
    """A folder that keeps the trials of one search; it may go on for more of them."""

    noun, run_noun = "search", "trial"
    differences = "data, methods, settings, ranges, seeds"
    place, plan_file, lines_file = "searches", "search.json", "trials.jsonl"
    remedy = "Remove the line and those after it to have these trials made again."
    may_change = ("trials",)

    def read(self) -> Tuning:
        """Return the trials that are over, without the run of the best.

        Raises StoreError: a line is damaged.
        """
        return Tuning(self.plan.space.names, tuple(self.read_lines()))

    def keep(self, tuning: Tuning) -> None:
        """Write the last trial, and the run of the best one in place of that of the best before.

        A kill on the way leaves a run too many, which is removed with the next trial, and never one too few.

        Raises StoreError: it cannot be written.
        """
        best = tuning.best_trial
        if best is tuning.trials[-1] and tuning.best_result is not None:
            write_result(self._run_path(best), tuning.best_result, state=False)
        self.append(tuning.trials[-1])
        for path in self.folder.glob(_RUN.format("*")):
            if best is None or path != self._run_path(best):
                remove_file(path)

    def read_best(self, tuning: Tuning, poll: Poll = no_poll) -> Result | None:
        """Return the run of the best trial, made again where its file is gone; None where no trial has a perplexity.

        Raises StoreError: its file is damaged. Raises StopRun: the poll ended the run that was made again.
        """
        best = tuning.best_trial
        if best is None or tuning.best_result is not None:
            return tuning.best_result
        path = self._run_path(best)
        if not path.exists():
            again = solve(self.plan.build_trial(best.values), None, poll)
            if again.was_stopped:
                raise StopRun
            return again
        stored = read_result(path, self.plan.data)
        return stored if isinstance(stored, Result) else None

    def _run_path(self, trial: Trial) -> Path:
        return self.folder / _RUN.format(trial.number)

    @staticmethod
    def _rebuild(data: Any, identity: Mapping[str, Any]) -> Search:
        return rebuild_search(data, identity)

    def _encode(self, run: Any) -> Any:
        return asdict(run)

    def _decode(self, line: Any, number: int) -> Any:
        """Return the trial of a line; what a search reckons with is checked."""
        names, values = self.plan.space.names, line["values"]
        trial = Trial(
            line["number"],
            {name: float(values[name]) for name in names},
            math.nan if line["perplexity"] is None else float(line["perplexity"]),
            math.nan if line["cpu_seconds"] is None else float(line["cpu_seconds"]),
            str(line["verdict"]),
            None if line["error"] is None else str(line["error"]),
        )
        if trial.number != number or len(values) != len(names):
            raise ValueError("it is of another search, or a line before it is gone")
        perplexity, seconds = line["perplexity"], line["cpu_seconds"]
        if (
            not all(map(is_number, trial.values.values()))
            or not (perplexity is None or (is_number(perplexity) and perplexity > 0))
            or not (seconds is None or is_number(seconds, MOST_SECONDS))
        ):
            raise ValueError("a setting, the perplexity or the time is not a number that a trial can have")
        return trial
