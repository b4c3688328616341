"""Subcommands and flags; those of the methods' settings come from the registry."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from acvb_core.cli.parser import Parser
from acvb_core.cli.reading import MODEL_FOR, add_corpus, add_reading
from acvb_core.cli.settings import add_method_settings, group_adder
from acvb_core.cli.typed import parse_count, parse_names, parse_number, parse_port, parse_seeds
from acvb_core.evaluate.split import MAX_ENTRIES
from acvb_core.registry import METHODS, MODELS


def _add_app(app: Parser) -> None:
    app.add_argument(
        "--port", type=parse_port, default=8501, metavar="N", help="port to listen on (default: 8501)"
    )
    app.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address or name of this machine to listen on (default: 127.0.0.1, for this machine only); 0.0.0.0 "
        "listens on all addresses. Whoever reaches the address can use the app, unless it asks to sign in: see "
        "docs/serving.md",
    )
    app.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name that browsers may open the app by, such as that of a reverse proxy: example.org, or "
        "example.org:8443 for another port than 80 and 443; can be given several times (default: only 127.0.0.1, "
        "localhost, [::1] and the --host are served)",
    )
    text = "offer to compute runs on the Dask cluster with this scheduler, such as tcp://10.0.0.1:8786 (default: "
    app.add_argument("--scheduler", metavar="ADDRESS", help=f"{text}ACVB_SCHEDULER, else this machine alone)")


def _add_cluster(cluster: Parser) -> None:
    add = cluster.add_argument
    add("--workers", type=parse_count, default=2, metavar="N", help="worker processes (default: 2)")
    text = "runs that a worker computes at once (default: the cores of this machine are shared between the workers)"
    add("--threads", type=parse_count, metavar="N", help=text)
    text = "address to listen on (default: 127.0.0.1, for this machine only)"
    add("--host", default="127.0.0.1", metavar="ADDRESS", help=text)
    text = "port of the scheduler (default: 8786)"
    add("--port", type=parse_port, default=8786, metavar="N", help=text)
    text = "port of Dask's dashboard (default: 8787)"
    add("--dashboard-port", type=parse_port, default=8787, metavar="N", help=text)
    text = "with another --host: nobody who reaches it is to be kept out"
    add("--trust-network", action="store_true", help=text)


def _add_fit(fit: Parser) -> None:
    add_reading(fit)
    names = ", ".join(dict.fromkeys(row.name for row in METHODS))
    fit.add_argument("--method", help=f"one of {names} (default: acvb0; of tables fab)")
    fit.add_argument("--seed", type=int, default=0, help="of the inference (default: 0)")
    fit.add_argument(
        "--restarts",
        type=parse_count,
        default=1,
        metavar="N",
        help="runs from N seeds that count up from --seed and race: the half with the worse lower bound (without one, "
        "as in streams, the worse leave-one-out likelihood; of latent features, which need --heldout for it, "
        "the worse held-out likelihood) is given up at 20 sweeps, half of the rest at 40, and so on; the winner is "
        "reported (default: 1)",
    )
    fit.add_argument(
        "--start",
        metavar="MODEL",
        help="topics: go on from those of an earlier run: its folder, or the model.npz in it; words are matched by "
        "name, new ones are added by methods that stream",
    )
    _add_run(fit)
    _add_links(fit)


def _add_compare(compare: Parser) -> None:
    add_reading(compare)
    text = "methods, with commas between (default: acvb0,cvb0,vb; of tables fab,em,vb)"
    compare.add_argument("--methods", type=parse_names, metavar="A,B,…", help=text)
    text = "number of seeds, counted from 0, or the seeds themselves, with commas between (default: 1)"
    compare.add_argument("--seeds", type=parse_seeds, default=[0], metavar="N", help=text)
    _add_run(compare)
    _add_links(compare)


def _add_experiment(experiment: Parser) -> None:
    add_reading(experiment)
    add = experiment.add_argument
    text = "methods, with commas between (default: acvb0,cvb0,vb; of tables fab,em,vb)"
    add("--methods", type=parse_names, metavar="A,B,…", help=text)
    text = "runs of each method, each with a split and a seed of its own that all methods share (default: 10)"
    add("--splits", type=parse_count, default=10, metavar="N", help=text)
    text = "of the first split and the runs on it; the next split has the next one (default: 0)"
    add("--seed", type=int, default=0, help=text)
    text = "runs that race for each run of the experiment, as for `acvb fit` (default: 1)"
    add("--restarts", type=parse_count, default=1, metavar="N", help=text)
    text = "held-out score that decides (default: heldout_log_likelihood)"
    add("--score", default="heldout_log_likelihood", metavar="NAME", help=text)
    title = "settings of the methods; several values of one, with commas between, are varied"
    _add_run(experiment, heldout="0.1, unless --heldout-documents is given", settings=title)
    experiment.set_defaults(several=True, heldout=None)


def _add_tune(tune: Parser) -> None:
    add_reading(tune)
    names = ", ".join(row.name for row in METHODS if row.tuned)
    tune.add_argument("--method", default="scvb0", help=f"one of {names} (default: scvb0)")
    text = "of the runs and of the choice of trials (default: 0)"
    tune.add_argument("--seed", type=int, default=0, help=text)
    tune.add_argument(
        "--trials",
        type=parse_count,
        default=30,
        metavar="N",
        help="runs, each of one epoch unless --epochs says otherwise: first the defaults, then settings spread evenly, "
        "then the most promising ones; a setting that is typed is held (default: 30)",
    )
    _add_run(tune, "0.02, unless --heldout is given")
    _add_links(tune)


def _add_read(read: Parser) -> None:
    add_corpus(read, "", "it may be larger than the memory", texts=True)
    text = "where to keep it; `acvb fit FOLDER` goes on from there"
    read.add_argument("folder", metavar="FOLDER", help=text)
    read.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _add_transform(transform: Parser) -> None:
    text = f"folder that `acvb fit --model {MODEL_FOR['corpus']} … --out` wrote, or the model.npz in it; texts are cut "
    text += "as its were"
    transform.add_argument("folder", metavar="RUN", help=text)
    add_corpus(transform, "documents: ", "or sample:NAME", texts=False)
    text = "also score how well four fifths of each document's words predict the rest"
    transform.add_argument("--completion", action="store_true", help=text)
    transform.add_argument(
        "--out", metavar="CSV", help="file to write the table to (default: standard output)"
    )


def _add_run(
    to: Parser, documents: str = "0", *, heldout: str = "0", settings: str = "settings of the methods"
) -> None:
    models = "; ".join(f"{row.name} for {row.data}" for row in MODELS)
    streaming = ", ".join(row.name for row in MODELS if row.streamed is not None)
    of_relations = " or ".join(row.name for row in MODELS if row.kind == "relation")
    default = f"a sample's own, else {of_relations}, as --domains says; {streaming} for a corpus on disk; "
    add = to.add_argument
    add("--model", help=f"{models} (default: {default}that of the method, where only one has it)")
    add(
        "--heldout",
        type=parse_number,
        default=0.0,
        metavar="SHARE",
        help="share of the observed entries, of each document's words, or of a table's known cells, to hold out and "
        f"score; at most {MAX_ENTRIES:,} entries or cells (default: {heldout})",
    )
    add(
        "--heldout-documents",
        type=parse_number,
        metavar="SHARE",
        help="corpus: share of whole documents to hold out instead; four fifths of the words of each are seen, "
        f"the others are to be predicted (default: {documents})",
    )
    text = "refuse to start a run that needs more memory than is free (default: yes)"
    add("--check-memory", action=argparse.BooleanOptionalAction, default=True, help=text)
    add("--heldout-seed", type=int, default=0, help="of the held-out split (default: 0)")
    text = "folder to write the results to: run.json, history.csv, the tables of the model, posterior.npz; "
    add("--out", metavar="DIR", help=f"{text}of topics also model.npz, to go on from")
    text = "threads of this machine that compute a run of topics; the result is the same (default: ACVB_THREADS, else "
    add("--threads", type=parse_count, metavar="N", help=f"{text}one a core)")
    text = "compute on the Dask cluster with this scheduler, such as tcp://10.0.0.1:8786 (default: ACVB_SCHEDULER, "
    add("--scheduler", metavar="ADDRESS", help=f"{text}else this machine)")
    add("--quiet", action="store_true", help="no progress on stderr")
    add_method_settings(group_adder(to, settings))


def _add_links(to: Parser) -> None:
    text = "relation: also write the N unknown and the N unlinked pairs that are most likely links (links.csv), and "
    to.add_argument(
        "--links", type=int, metavar="N", help=f"{text}the N most surprising links (surprising.csv)"
    )


#: Name of a command -> what adds its flags.
ADDERS: dict[str, Callable[[Parser], None]] = {
    "fit": _add_fit,
    "compare": _add_compare,
    "experiment": _add_experiment,
    "tune": _add_tune,
    "read": _add_read,
    "transform": _add_transform,
    "cluster": _add_cluster,
    "app": _add_app,
}
