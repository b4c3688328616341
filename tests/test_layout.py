"""Where things live: imports run one way, pins are exact, what is declared is what is used."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import networkx as nx
from packaging.requirements import Requirement

from tests import rules
from tests.loops import for_each

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "acvb_core"

#: Models that build on another one.
BUILT_ON = {"poisson": "irm"}
MODELS = sorted(path.parent.name for path in (ROOT / PACKAGE / "models").glob("*/spec.py"))
# A module imports from the lines above its own, and from its own room. Each folder with a spec.py is a model.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("core.errors", "core.versions", "core.files"),
    ("core.protocols", "core.parameters", "core.special", "core.kernel_cache"),
    ("core.display", "core.parallel", "core.compiler_process"),
    ("core.spec",),
    ("core.clusters",),
    ("core.averaging",),
    ("shards",),
    ("data",),
    ("evaluate", "samples"),
    tuple(f"models.{name}" for name in MODELS if name not in BUILT_ON),
    tuple(f"models.{name}" for name in MODELS if name in BUILT_ON),
    ("registry",),
    ("engine",),
    ("store",),
    ("cluster",),
    ("views",),
    ("report",),
    ("__init__",),
    ("warmup", "cli"),
    ("__main__",),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
#: Folders whose parts have each a place of its own.
FLOORS = ("core", "models")
#: Parts of a model that build on a later room: they stand right after it.
LATER = {
    "online": "engine",
    "grid": "engine",
    "answer": "engine",
    "export": "store",
    "figures": "views",
    "text": "cli",
    "warmup": "views",
}

#: Files of a model in the order in which they build on each other; those that are not named stand before `model`.
INSIDE = (
    ("spec",),
    ("kernels",),
    ("hyper",),
    ("state",),
    ("",),
    ("model",),
    ("answer",),
    ("export", "text"),
    ("figures",),
)
#: Imports against that order that are still there. No other may come.
KNOWN_UPWARD = {("irm.gibbs_kernels", "irm.network")}
#: Modules outside the models that import one, besides the names that `acvb_core` offers.
KNOWN_MODEL_IMPORTS = {"acvb_core.cli.texts", "acvb_core.store.topics"}

APP_SOURCES = ("app.py", "pages")

# Libraries that only some folders may import (relative to the root; a folder stands for all in it).
RESERVED = {"streamlit": (*APP_SOURCES, "tests"), "plotly": (f"{PACKAGE}/views", "tests")}
# The app is no library: nothing in the package imports it.
APP = ("app", "main", "pages", "tests", "benchmarks")


def sources(*where: str) -> list[Path]:
    """Every Python file of some files and folders of the checkout."""
    found: list[Path] = []
    for name in where:
        path = ROOT / name
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path] if path.exists() else []
    return found


@cache
def imported(source: str, module: str, is_package: bool) -> list[tuple[int, str]]:
    """Line and full dotted name of everything `module` imports, wherever in it the import stands.

    `from a import b` gives `a.b`: whether b is a module or a name in one is for the caller to find out.
    """
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")[: None if is_package else -1]
                parents = parents[: len(parents) - (node.level - 1)]
                base = ".".join([*parents, *([base] if base else [])])
            found += ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
    return found


def layer_of(dotted: str) -> str:
    """The room a module is in: `acvb_core.engine.run` -> `engine`, `acvb_core.models.irm.cvb` -> `models.irm`.

    `from acvb_core import fit` reaches for a name in `__init__`, not for a module of its own: `__init__`.
    """
    parts = dotted.split(".")
    if len(parts) == 1:
        return "__init__"
    if parts[1] in FLOORS:
        return ".".join(parts[1:3])
    is_module = (ROOT / PACKAGE / parts[1]).is_dir() or (ROOT / PACKAGE / f"{parts[1]}.py").exists()
    return parts[1] if is_module or parts[1] in LEVEL else "__init__"


def level_of(dotted: str) -> float:
    """How far down the order of the rooms a module stands; the parts of a model that build on a room follow it."""
    parts = dotted.split(".")
    later = LATER.get(parts[3]) if parts[1:2] == ["models"] and len(parts) > 3 else None
    if later is None:
        return LEVEL[layer_of(dotted)]
    return LEVEL[later] + (0.75 if parts[2] in BUILT_ON else 0.5)


def backward(source: str, module: str, is_package: bool = False) -> list[str]:
    """Imports of a module of the package that run against the layers, one sentence each."""
    own = layer_of(module)
    if own in FLOORS:
        return [] if not source.strip() else [f"{module} is to be empty: its parts are imported one by one"]
    if own not in LEVEL:
        return [f"{own} has no place in LAYERS ({Path(__file__).name})"]
    wrong = []
    for line, name in imported(source, module, is_package):
        top = name.split(".")[0]
        if top in APP:
            wrong.append(f"{module}:{line} imports {name}: the package knows nothing of the app")
        if top != PACKAGE:
            continue
        other = layer_of(name)
        if other not in LEVEL:
            wrong.append(
                f"{module}:{line} imports {other}, which has no place in LAYERS ({Path(__file__).name})"
            )
        elif other != own and (level_of(name) >= level_of(module) or is_unrelated(own, other)):
            wrong.append(f"{module}:{line} imports {name}, but {other} does not stand to the left of {own}")
    return sorted(set(wrong))


def is_unrelated(own: str, other: str) -> bool:
    """Return whether two rooms are models that do not build on each other."""
    models = [room.removeprefix("models.") for room in (own, other) if room.startswith("models.")]
    return len(models) == 2 and BUILT_ON.get(models[0]) != models[1]


def dotted_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_within(path: Path, places: tuple[str, ...]) -> bool:
    relative = path.relative_to(ROOT)
    return any(relative == Path(place) or Path(place) in relative.parents for place in places)


def canonical(name: str) -> str:
    """The name of a distribution without its version, extras and marker, spelt one way."""
    found = re.match(r"[A-Za-z0-9._-]+", name.strip())
    assert found, name
    return re.sub(r"[-_.]+", "-", found.group()).lower()


def requirements(name: str) -> list[str]:
    lines = (line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    return [line for line in lines if line]


def package_imports() -> Iterator[tuple[str, int, str]]:
    """Every import in the package: the module, the line, the full dotted name."""
    for path in sources(PACKAGE):
        module = dotted_name(path)
        for line, name in imported(path.read_text(), module, path.name == "__init__.py"):
            yield module, line, name


def test_imports_run_one_way() -> None:
    wrong = [
        sentence
        for path in sources(PACKAGE)
        for sentence in backward(path.read_text(), dotted_name(path), path.name == "__init__.py")
    ]
    assert not wrong, "\n".join(wrong)


def stage(parts: list[str]) -> int:
    """The place of a model's file in `INSIDE`; a file of the online methods counts by its own name."""
    name = parts[1] if parts[0] == "online" and len(parts) > 1 else parts[0]
    named = (at for at, names in enumerate(INSIDE) for one in names if one and name.split("_")[-1] == one)
    return next(named, INSIDE.index(("",)))


def is_upward(module: str, name: str) -> bool:
    """Return whether an import inside a model runs against `INSIDE`."""
    own, other = module.split("."), name.split(".")
    return own[1:3] == other[1:3] and min(len(own), len(other)) > 3 and stage(own[3:]) < stage(other[3:])


def test_no_import_inside_a_model_runs_upward() -> None:
    found = {
        (module, name.rpartition(".")[0])
        for module, _, name in package_imports()
        if module.startswith(f"{PACKAGE}.models.") and is_upward(module, name)
    }
    assert found == {(f"{PACKAGE}.models.{one}", f"{PACKAGE}.models.{other}") for one, other in KNOWN_UPWARD}


def find_circles(modules: dict[str, str]) -> set[frozenset[str]]:
    """Groups of modules, given with their sources, that import each other, wherever the imports stand."""
    graph = nx.DiGraph()
    for module, source in modules.items():
        for _, name in imported(source, module, is_package=False):
            other = name if name in modules else name.rpartition(".")[0]
            if other in modules and other != module:
                graph.add_edge(module, other)
    return {frozenset(group) for group in nx.strongly_connected_components(graph) if len(group) > 1}


def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = {dotted_name(path): path.read_text() for path in sources(PACKAGE) if path.stem != "__init__"}
    assert find_circles(modules) == set()


def test_only_the_registry_knows_the_models() -> None:
    """What other rooms need of a model they ask its row for."""
    found = {
        module
        for module, _, name in package_imports()
        if name.split(".")[1:2] == ["models"] and module.split(".")[1:2] != ["models"]
    }
    assert found - {PACKAGE, f"{PACKAGE}.registry"} == KNOWN_MODEL_IMPORTS


@for_each(
    "module, source",
    [
        ("acvb_core.models.irm.cvb", "from ...engine.run import run"),
        ("acvb_core.models.irm.cvb", "from acvb_core.models.lda import model"),
        ("acvb_core.models.irm.cvb", "from acvb_core.models.poisson import counts"),
        ("acvb_core.models.poisson.counts", "from acvb_core.models.lda import model"),
        ("acvb_core.models.irm.cvb", "def f():\n    from acvb_core.registry import METHODS"),
        ("acvb_core.data.relation_readers", "import pages.run"),
    ],
)
def test_a_backward_import_is_found(module: str, source: str) -> None:
    assert len(backward(source, module)) == 1


def test_only_its_own_folders_import_a_library() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {library}"
        for library, places in RESERVED.items()
        for path in sources(PACKAGE, *APP_SOURCES)
        if not is_within(path, places)
        for line, name in imported(path.read_text(), dotted_name(path), path.name == "__init__.py")
        if name.split(".")[0] == library
    ]
    assert not wrong, f"only some folders may: {RESERVED}"


def test_pins_are_complete() -> None:
    """Whatever a pinned distribution needs is pinned as well, so that an installation never varies."""
    pinned = {canonical(line) for line in requirements("requirements.txt")}
    loose = {
        f"{needed.name} (for {name})"
        for name in pinned
        for needed in map(Requirement, metadata.requires(name) or ())
        if (needed.marker is None or needed.marker.evaluate({"extra": ""}))
        and canonical(needed.name) not in pinned
    }
    assert not loose


def test_imported_libraries_are_declared() -> None:
    """A library that comes only because another needs it can leave with the other."""
    distribution = {"bayes_opt": "bayesian-optimization", "sklearn": "scikit-learn", "PIL": "pillow"}
    distribution |= {"python_calamine": "python-calamine"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    optional = [line for extra, lines in extras.items() if extra != "app" for line in lines]
    package = {canonical(line) for line in [*project["dependencies"], *optional]}
    app = package | {canonical(line) for line in extras["app"]}
    missing = []
    for path in sources(PACKAGE, *APP_SOURCES):
        allowed = package if is_within(path, (PACKAGE,)) else app
        for line, name in imported(path.read_text(), dotted_name(path), path.name == "__init__.py"):
            top = name.split(".")[0]
            if top not in sys.stdlib_module_names and top not in (PACKAGE, "pages"):
                needed = canonical(distribution.get(top, top))
                if needed not in allowed:
                    missing.append(
                        f"{path.relative_to(ROOT)}:{line} imports {top}, which pyproject.toml does not list"
                    )
    assert not missing, "\n".join(missing)


def test_the_architecture_names_every_folder_and_is_short() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    folders = {path.parent.name for path in sources(PACKAGE, "pages")} - {PACKAGE, "ui", "app"}
    assert {folder for folder in folders if not re.search(rf"\b{folder}\b", text)} == set()
    assert len(text.splitlines()) <= 80


def test_parts_that_refresh_are_drawn_by_one_function() -> None:
    users = [path.name for path in sources(*APP_SOURCES) if "run_every" in path.read_text()]
    assert users == ["refresh.py"], (
        "the container there keeps a part from taking the place of what follows it"
    )


def test_no_figure_needs_webgl() -> None:
    """Plotly compiles code in the browser for such traces, which the app's content policy forbids."""
    drawn_by_webgl = re.compile(
        r"""["'](\w+gl|\w+3d|splom|parcoords|surface|volume|isosurface|cone|streamtube|(scatter|density|choropleth)map)["']"""
        r"|Scattergl|scatter_matrix|pydeck_chart|\bst\.map\("
    )
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in sources(PACKAGE, *APP_SOURCES)
        for match in drawn_by_webgl.finditer(path.read_text())
    ]
    assert not found


def test_rules_of_size_and_of_names() -> None:
    broken = {title: sorted(names) for title, names in rules.violations().items() if names}
    assert not broken, "mend these (tests/rules.py has the rules)"


def test_folders_are_small() -> None:
    paths = [path for path, _ in rules.modules("app.py", "pages", PACKAGE)]
    large, known = rules.large_folders(paths), rules.KNOWN_FOLDERS
    grown = {folder: count for folder, count in large.items() if count > known.get(folder, 0)}
    assert not grown, f"at most {rules.MOST_FILES} files: put what belongs together in one file"
    assert not known.keys() - large.keys(), "these are small enough: take them out of KNOWN_FOLDERS"


def lines(count: int, line: str = "x = 1") -> str:
    return f"{line}\n" * count


@for_each("check, source, names",
    [
        (rules.long_module, lines(701), ["module"]),
        (rules.long_functions, "class A:\n  def long(self):\n" + lines(65, "    x = 1"), ["A.long"]),
        (rules.long_functions, "def f():\n  \"\"\"\n" + lines(9) + '  """\n' + lines(65, "  x = 1"), ["f"]),
        (rules.long_functions, "@nb.njit(**OPTIONS)\ndef kernel():\n" + lines(99, "    x = 1"), []),
        (rules.many_parameters, "def f(a, b, c, d, e, f, g, h, i, *, j, k): ...", ["f"]),
        (rules.many_parameters, "def fit(a, b, *, c, d, e, f, g, h, i, j, k): ...", []),
        (rules.bare_participles, "def told(): ...\ndef _joined(): ...\nclass Found: ...", ["told", "_joined", "Found"]),
        (rules.docstring_starts, "def f():\n  'Whether it is.'", ["f"]),
        (rules.docstring_starts, "'''What a page shows.'''\ndef f():\n  'Return whether.'", ["module"]),
        (rules.numpy_imports, "def f():\n  from numpy.linalg import svd", ["numpy"]),
        (rules.model_names, "if row.name == 'lda': ...", ["lda"]),
    ],
)  # fmt: skip
def test_a_broken_rule_is_found(check: Callable[[str], list[str]], source: str, names: list[str]) -> None:
    assert check(source) == names


def test_pins_are_exact() -> None:
    loose = [
        line
        for name in ("requirements.txt", "requirements-dev.txt", "requirements-bench.txt")
        for line in requirements(name)
        if line != "-r requirements.txt" and not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)
    ]
    assert not loose
