"""The result of a run: the answer, its diagnostics, and everything needed to repeat it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from acvb_core.core.clusters import order_by_size, rearrange
from acvb_core.core.display import ArrangedNames
from acvb_core.core.errors import ParameterError, shorten
from acvb_core.core.protocols import Posterior
from acvb_core.core.spec import ModelSpec, references_to
from acvb_core.data.report import ReadReport, plural
from acvb_core.engine.history import RaceReport, SweepRecord, Verdict
from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.run import RunState
from acvb_core.engine.stopping import explain_convergence
from acvb_core.evaluate.chains import ChainReport

if TYPE_CHECKING:
    import pandas as pd


#: Fields of the last record that a summary has under the same names.
_SUMMARISED = ("cpu_seconds", "wall_seconds", "diagnostics_seconds", "lower_bound", "pseudo_loo")
#: Nats by which all held-out data together must have been predicted better before, so that it is no chance. On five
#: tables the differences beyond it were three standard errors or more, those below it less.
_CLEARLY = 100.0


class HeldOutPeak(NamedTuple):
    """The sweep after which held-out data were predicted best, and clearly better than at the end of the run."""

    sweep: int
    best: float  #: score after this sweep, as the model's `display.score` has it
    last: float  #: score at the end

    def describe(self, row: ModelSpec) -> str:
        """Return in words when a run of a model predicted best, and what may predict better than its end."""
        display, write = row.display, row.display.score.write
        return (
            f"The run overfits: held-out {row.unit[1]} were predicted best after sweep {self.sweep:,} "
            f"({display.score.name} {write(self.best)}), and the last sweep has {write(self.last)}. To predict, try "
            f"{display.to_predict}."
        )


_ARCHIVES = references_to("store.archives")
_CURVES, _CURVES_PLOT = references_to("views.convergence"), "convergence"


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A finished run: a view of its state after the last sweep.

    Clusters, topics and features are numbered from 1, the largest first: in its tables and labels, in files and pages.
    After a race of restarts, all but `state.race_report` is the winner's own: settings with its seed, sweeps, times.
    """

    state: RunState
    name: str = ""  #: the name that the run was given; empty if it has none
    #: What reading the data found; None if they were given as a Relation, Corpus or Table.
    report: ReadReport | None = None
    #: The user's names of clusters, topics or features, by domain; None for a part without one. See `names`.
    given_names: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    #: By domain, the run's own parts (from 1) that each part is made of, if a reader has arranged them; these keep
    #: their order. Empty: the parts are those of the run.
    arranged: Mapping[str, Sequence[Sequence[int]]] = field(default_factory=dict)
    #: Column and name of each group that documents must be in (`among`). Empty: the result is of all documents.
    groups: Sequence[tuple[str, str]] = ()

    @property
    def prepared(self) -> PreparedRun:
        """The run as it was asked for: data, split, method and settings."""
        return self.state.prepared

    @property
    def snapshot(self) -> SweepRecord:
        """The run after its last sweep."""
        return self.state.last

    @property
    def max_sweeps(self) -> int:
        """Cap of the run, extensions included."""
        return self.state.max_sweeps

    @property
    def race_report(self) -> RaceReport | None:
        """The race of restarts that this run came out of."""
        return self.state.race_report

    def __repr__(self) -> str:
        of = f", documents with {self.of_groups}" if self.groups else ""
        return "\n".join([f"Result({self.label} on {self.prepared.data!r}{of})", *self._describe()])

    def _repr_html_(self) -> str:
        """Return the result as a notebook shows it: the facts, and the first rows of its first table."""
        name, table = next(iter(self.tables.items()))
        facts = "".join(f"<li>{escape(line.strip())}</li>" for line in self._describe())
        first = table.iloc[:5, :8].to_html(index=False, border=0, max_cols=8, notebook=False)
        head = f"<b>{escape(self.label)}</b> on {escape(shorten(self.prepared.data.name, 80))}"
        return f"{head}<ul>{facts}</ul>First of {len(table):,} lines of <code>result.{name}</code>:{first}"

    def _describe(self) -> list[str]:
        """Return what the run came to, a line for each of end, answer, scores and tables."""
        last, display = self.snapshot, self.prepared.model_row.display
        sizes = [f"{k:,}" for k in last.effective_k.values()]
        lines = [
            f"  {self.verdict} after {plural(last.sweep, 'sweep')}, {last.cpu_seconds:.3g} CPU s",
            f"  {' x '.join(sizes)} {display.parts[0 if sizes == ['1'] else 1]}",
        ]
        scores = [] if last.lower_bound is None else [f"lower bound {last.lower_bound:,.6g}"]
        if last.heldout is not None:
            known = last.heldout._asdict()
            text = f"held-out {display.score.name} {display.score.write_with_baseline(known)}"
            averaged = known.get(display.score.averaged, np.nan)
            if np.isfinite(averaged) and not self.prepared.row.sampled:
                text += f" by the {display.parts[1]} alone, {display.score.write(averaged)} by the mean of samples"
            scores.append(text)
        lines += [f"  {', '.join(scores)}"] if scores else []
        return [*lines, f"  tables: {', '.join(self.tables)}"]

    def save(self, path: str | Path) -> None:
        """Write the result with its data to a file, which `acvb_core.load_result` reads and the Runs page imports.

        Raises StoreError: the file cannot be written, or the data are kept on disk.
        Raises ParameterError: the result is of some documents alone (`among`).
        """
        if self.groups:
            raise ParameterError(
                f"this result is of documents with {self.of_groups} alone; save the one of all documents, then call "
                "`among` on what load_result returns."
            )
        _ARCHIVES("save_results")(path, [self])

    def plot(self, name: str = _CURVES_PLOT) -> Any:
        """Return a Plotly figure of the result, as its page draws it; `plots` lists the names.

        Raises ParameterError: there is no such figure of this result.
        """
        if name == _CURVES_PLOT:
            curve = _CURVES("RunCurve").load().of_run("run", self.label, self.prepared, self.state.history)
            return _CURVES("live_figure")([curve])
        if name not in self._plots:
            raise ParameterError(f"no figure {name!r} of this result; it has {', '.join(self.plots)}.")
        return self._plots[name]()

    @property
    def plots(self) -> list[str]:
        """Names of the figures that `plot` draws."""
        return [_CURVES_PLOT, *self._plots]

    @cached_property
    def _plots(self) -> dict[str, Callable[[], Any]]:
        own: dict[str, Callable[[], Any]] = self.prepared.model_row.part("figures.plots").list_plots(self)
        return own

    def with_state(self, **changes: Any) -> Result:
        """Return the result with other fields of its state."""
        return replace(self, state=replace(self.state, **changes))

    @property
    def label(self) -> str:
        """The name of the run: the one it was given, or the usual one."""
        return self.name or self.prepared.label

    @property
    def race(self) -> pd.DataFrame | None:
        """The race of restarts that this run came out of, all that it cost included; None if there was none.

        Columns: seed, sweeps, cpu_seconds, lower_bound, pseudo_loo, heldout, out_after (see `RaceReport.table`).
        """
        return None if self._race is None else self._race.table()

    @property
    def _race(self) -> RaceReport | None:
        """The race with its leader as the run's last sweep left it."""
        return None if self.race_report is None else self.race_report.with_leader(self.snapshot)

    @property
    def verdict(self) -> Verdict:
        """The end of the run."""
        return self.snapshot.verdict or Verdict.STOPPED

    @property
    def reason(self) -> str:
        """The rule that ended a converged run, with the last change and the tolerance, in words; "" for other runs.

        The rule may be about the bound or the leave-one-out score, while single assignments still change.
        """
        return explain_convergence(self.prepared, self.state.history, self.snapshot)

    @property
    def history(self) -> pd.DataFrame:
        """Diagnostics of every sweep, one row each."""
        return self.state.history.frame()

    @property
    def was_stopped(self) -> bool:
        """True when the run, or the race it was in, was stopped."""
        return self.verdict is Verdict.STOPPED or not (
            self.race_report is None or self.race_report.is_decided
        )

    @cached_property
    def posterior(self) -> Posterior:
        """The answer, largest cluster first in every domain; what a method does not keep is worked out where it can."""
        posterior = self.prepared.model.complete_posterior(self.snapshot.posterior)
        masses = posterior.masses()
        kept = set(masses) if self.groups else self.arranged
        orders = {domain: order_by_size(mass) for domain, mass in masses.items() if domain not in kept}
        return rearrange(posterior, orders)

    @cached_property
    def chain(self) -> ChainReport | None:
        """R-hat and effective sample size of the Gibbs samples of the run; None for a run without samples.

        Samples of the chain before a run on a relation are judged by their bounds and numbers of clusters, the kept
        sweeps of a sampler by the hyper-parameters that it draws: its bound is that of the mean.
        """
        if self.prepared.row.sampled:
            kept = self.state.history.column("samples") > 0
            columns = {name: self.state.history.column(name)[kept] for name in self.snapshot.hyper}
            draws = {name: values for name, values in columns.items() if len(values) and np.ptp(values) > 0.0}
        else:
            read = getattr(self.prepared.model, "read_chain", None)
            draws = {} if read is None else read(self.snapshot.posterior)
        return ChainReport.of_draws(draws)

    @property
    def full_domains(self) -> dict[str, int]:
        """Domains with as many clusters in use as the run may have, and that number: a larger one may fit better."""
        prepared, used = self.prepared, self.snapshot.effective_k
        limits = prepared.model_row.limits(prepared.train, dict(prepared.spec.values))
        return {domain: most for domain, most in limits.items() if used[domain] >= most > 1}

    @cached_property
    def heldout_peak(self) -> HeldOutPeak | None:
        """When held-out data were predicted best, if that was clearly better than at the end: the run overfits.

        Clearly: all of them together by more than 100 nats, and the scores are not level (they differ by more than a
        hundredth). None otherwise, for samplers, whose scores are of ever more samples, and if nothing is held out.
        """
        heldout, score = self.prepared.heldout, self.prepared.model_row.display.score
        likelihood = self.state.history.column("heldout_log_likelihood")
        known = np.flatnonzero(np.isfinite(likelihood))
        if heldout is None or self.prepared.row.sampled or not len(known):
            return None
        at, end = known[np.argmax(likelihood[known])], known[-1]
        best, last = self.state.history.column(f"heldout_{score.field}")[[at, end]].tolist()
        if (likelihood[at] - likelihood[end]) * heldout.n <= _CLEARLY or score.are_level(best, last):
            return None
        return HeldOutPeak(int(self.state.history.column("sweep")[at]), best, last)

    @cached_property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The name of every cluster ("rows", "cols"), topic ("topics") or feature ("features"), number 1 first.

        It is the user's name (`given_names`), or one made of what the part contains.
        """
        found: dict[str, tuple[str, ...]] = self._naming.name_parts(self)
        for domain, given in self.given_names.items():
            known = zip(given, found.get(domain, ()), strict=True)
            found[domain] = tuple(own or default for own, default in known)
        arranged = {domain: ArrangedNames(found[domain], parts) for domain, parts in self.arranged.items()}
        return found | arranged

    @cached_property
    def marks(self) -> dict[str, list[list[int]]]:
        """The words or objects by which each part is recognised, however it is numbered, by domain."""
        found: dict[str, list[list[int]]] = self._naming.mark_parts(self)
        return found

    @property
    def _naming(self) -> Any:
        return self.prepared.model_row.part("answer.naming")

    @cached_property
    def bare_tables(self) -> dict[str, pd.DataFrame]:
        """The tables without names of parts, from which these are made."""
        return self.prepared.model.tables(self.posterior)

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The model's result frames, by name, as the properties below and `write_run` describe them."""
        named: dict[str, pd.DataFrame] = self._naming.add_names(self.bare_tables, self.names)
        return named

    def _table(self, name: str) -> pd.DataFrame:
        if name not in self.tables:
            model, ready = self.prepared.spec.model, ", ".join(self.tables)
            raise ParameterError(f"a run of model {model!r} has no {name}; it has {ready}.")
        return self.tables[name]

    @property
    def rows(self) -> pd.DataFrame:
        """Row objects: object, cluster, name, probability, entropy."""
        return self._table("rows")

    @property
    def features(self) -> pd.DataFrame:
        """Features: feature, name, share, objects, then what it adds to each column, in the column's units."""
        return self._table("features")

    @property
    def objects(self) -> pd.DataFrame:
        """Objects of a table: object, then the probability of each feature."""
        return self._table("objects")

    @property
    def columns(self) -> pd.DataFrame:
        """Column objects: as `rows`; of a table: column, baseline, noise_sd, mean, sd."""
        return self._table("columns")

    @property
    def blocks(self) -> pd.DataFrame:
        """Blocks: row_cluster, row_name, column_cluster, column_name, ones, entries, mean, low, high."""
        return self._table("blocks")

    @property
    def topics(self) -> pd.DataFrame:
        """Words of the topics: topic, name, rank, word, probability."""
        return self._table("topics")

    @property
    def documents(self) -> pd.DataFrame:
        """Documents: document, tokens, then the share of each topic; NaN if a document has no words."""
        return self._table("documents")

    def labels(self, name: str) -> np.ndarray:
        """Return the most probable cluster of each object, by the numbers of the tables, files and pages: from 1.

        `name`: "rows" or "cols"; for LDA "documents" (the topic of most of a document's words; 0: it has no words) or
          "words".
        Raises ParameterError: there are no such labels; objects that may have several features at once have none.
        """
        if not self.prepared.model_row.clusterings:
            raise ParameterError(
                f"model {self.prepared.spec.model!r} puts its objects into no clusters, so they have no labels; see "
                f"its tables: {', '.join(self.tables)}."
            )
        axes = self.posterior.axes.items()
        ready = [one for one, of in axes if len(of) == 2 and of[0] is None and of[1]]
        if name not in ready:
            raise ParameterError(f"no {name!r} have labels here; {' and '.join(ready)} have.")
        labels = self.posterior.labels(name) + 1
        table = self.tables.get(name)
        return labels if table is None or "tokens" not in table else np.where(table["tokens"] > 0, labels, 0)

    def coarsen(self, *, corrected: bool | None = None, **numbers: int) -> Result:
        """Return the result with fewer clusters or topics: `coarsen(rows=2)`, `cols` of two domains, `topics=4`.

        Clusters that cost the bound least are joined, and objects move to better ones. If a number is passed over, the
        result has the next smaller one. Topics with the most similar words are joined.

        `corrected`: by the bound of counts corrected for activity, or of the run's own model; None: by the evidence.
        Raises ParameterError: the model has no such clusters, or they are joined already.
        """
        try:
            tree = self.prepared.model_row.part("answer.tree")
        except ModuleNotFoundError:
            raise ParameterError(f"model {self.prepared.spec.model!r} has no clusters to join.") from None
        return cast("Result", tree.coarsen(self, numbers, corrected))

    def with_names(self, *, rows: str | None = None, cols: str | None = None) -> Result:
        """Return the result with objects named by a known label: `with_names(cols="product_name")`.

        Tables, names of clusters, figures and files have these names. The ids become a known label, and objects that
        share a name have their ids behind it (`acvb_core.with_names`).

        Raises ParameterError: there is no such label, or the data are no relation.
        """
        if self.prepared.model_row.kind != "relation":
            raise ParameterError(
                f"model {self.prepared.spec.model!r} is not of a relation, whose objects have labels."
            )
        given = {domain: name for domain, name in (("rows", rows), ("cols", cols)) if name is not None}
        return cast("Result", self._naming.show_names(self, given))

    def among(self, column: str, group: str) -> Result:
        """Return the result of the documents in a group alone (LDA): `among("product", "kettle")`.

        Shares, documents, comparisons and files are of these documents; of a corpus on disk, of those in its sample.
        Topics, their numbers, names and words, scores and history stay those of the run. Calls can follow one another.

        `column`: a column of groups: the known labels ("label" if they have no name), or a further column.
        Raises ParameterError: no such column or group, or the model has no documents.
        """
        try:
            among = self.prepared.model_row.part("answer.among")
        except ModuleNotFoundError:
            raise ParameterError(f"model {self.prepared.spec.model!r} has no documents in groups.") from None
        return cast("Result", among.take_group(self, column, group))

    @property
    def of_groups(self) -> str:
        """The groups that documents must be in, as text: "product: kettle"; empty for all documents."""
        return " and ".join(f"{column}: {group}" for column, group in self.groups)

    def transform(self, given: Any) -> pd.DataFrame:
        """Return the topic shares of documents that were not fitted (LDA): document, tokens, unknown, topic_1 …

        `given`: a Corpus over any vocabulary, or texts, which are tokenised as those that were fitted.
        Raises ParameterError: the model has no topics, or texts are given and their tokeniser is not known.
        """
        return self._find_function("transform", "documents to transform")(self.posterior, given)

    def completion(self, given: Any, observed: float = 0.8, seed: int = 0) -> Any:
        """Return how well the topics predict the rest of documents when a share of their tokens is seen (LDA).

        The answer has log_likelihood (nats a token), perplexity, tokens and documents.

        `given`: documents that were not fitted, as for `transform`.
        `observed`: share of each document's tokens that is seen.
        `seed`: of the choice of these tokens.
        """
        complete = self._find_function("completion", "documents to complete")
        return complete(self.posterior, given, observed, seed)

    def _find_function(self, name: str, what: str) -> Any:
        """Return a function that only some models have; otherwise, the model has no such things."""
        function = getattr(self.prepared.model, name, None)
        if function is None:
            raise ParameterError(f"model {self.prepared.spec.model!r} has no {what}.")
        return function

    def reconstruction(self, row: int | str) -> pd.DataFrame:
        """Return how the features add up to an object (latent features), in the units of the columns.

        One row a column: column, value (NaN if missing), baseline, feature_1 … (what each feature adds), total,
        residual.

        `row`: the object's position from 0, or its name.
        Raises ParameterError: there is no such object, or the model has no features.
        """
        reconstruct = self._find_function("reconstruction", "features that make up an object")
        return cast("pd.DataFrame", reconstruct(self.posterior, row).table(self.prepared.data))

    def summary(self) -> dict[str, Any]:
        """Return the run in plain values, as the command line prints it; after a race, the race under "race".

        `settled` (`SweepRecord.has_settled`) and `scaled_change` say how far the sweeps are from a mean; "samples",
        what the Gibbs samples of the run are worth (`chain`); "heldout_peak", that it overfits (`heldout_peak`).
        """
        last, race = self.snapshot, self._race
        heldout = {
            name: value
            for name, value in ({} if last.heldout is None else last.heldout._asdict()).items()
            if not (name.startswith(("averaged_", "means_")) and np.isnan(value))  # not known
        }
        if heldout and self.prepared.spec.heldout_documents:
            heldout["completion_perplexity"] = heldout["perplexity"]
        return {
            "model": self.prepared.spec.model,
            "method": self.prepared.spec.method,
            "seed": self.prepared.spec.seed,
            "verdict": str(self.verdict),
            "settled": last.has_settled,
            "scaled_change": last.scaled_change,
            "sweeps": last.sweep,
            **{name: getattr(last, name) for name in _SUMMARISED},
            "effective_k": dict(last.effective_k),
            "hyper": dict(last.hyper),
            **last.extras,
            "heldout": heldout or None,
            **({} if self.heldout_peak is None else {"heldout_peak": self.heldout_peak._asdict()}),
            **self._throughput(),
            **({} if self.chain is None else {"samples": self.chain.to_dict()}),
            **({} if race is None else {"race": race.to_dict()}),
        }

    def _throughput(self) -> dict[str, Any]:
        """Return how much of a stream was gone through, and how fast: clock time, diagnostics left out."""
        if not self.prepared.row.streams:
            return {}
        last = self.snapshot
        seen = round(last.passes * self.prepared.train.n_documents)
        seconds = last.wall_seconds - last.diagnostics_seconds
        rate = seen / seconds if seconds > 0 else None
        return {"passes": last.passes, "documents_seen": seen, "documents_per_second": rate}

    def to_dict(self) -> dict[str, Any]:
        """Return the summary, the data's identity and the settings: everything needed to repeat the run."""
        return {
            **self.summary(),
            "settings": self.prepared.spec.to_dict(),
            "max_sweeps": self.max_sweeps,
            "data": self.prepared.data.identity(),
        }
