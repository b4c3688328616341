"""Rules of size and of names, and what breaks them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import acvb_core
from acvb_core.registry import MODELS

ROOT = Path(__file__).resolve().parents[1]

MOST_LINES = 700
MOST_FUNCTION_LINES = 65  #: without the docstring
MOST_PARAMETERS = 10
#: Functions that a notebook calls. Their keywords are not counted: they are also flags of the command line and fields
#: of a stored run, and objects around them would be a second vocabulary.
TYPED_BY_USERS = frozenset(acvb_core.__all__)
MOST_FILES = 15
#: Folders that have more files, and how many. The list may only get shorter, and the numbers smaller.
KNOWN_FOLDERS: dict[str, int] = {
    "acvb_core/data": 17,
    "acvb_core/models/irm": 18,
    "acvb_core/models/lda": 19,
}

#: Decorators of compiled functions, which may be longer than a screen.
COMPILERS = ("njit", "jit", "vectorize", "guvectorize")
#: Past participles. As the whole name of a function or a class they say neither verb nor object.
PARTICIPLE = re.compile(
    "begun|born|bought|broken|brought|built|caught|chosen|done|drawn|driven|fallen|felt|found|given|gone|grown|heard|"
    "held|hidden|kept|known|laid|left|lent|living|lost|made|meant|met|paid|said|seen|sent|shown|shut|sought|sold|spent|"
    "spoken|standing|stood|sunk|sworn|taken|taught|thought|thrown|told|torn|understood|undone|won|worn|written"
    "|(?!(?:need|feed|seed|embed|speed)$)[a-z]+(?<!e)ed"
)
#: What a docstring does not begin with: it begins with what the thing is, or with what it does.
FIRST_WORDS = frozenset({"Of", "What", "Where", "Whether", "Which", "Whose"})

MODEL_NAMES = tuple(row.name for row in MODELS)
_QUOTED = re.compile(rf"""(["'`])({"|".join(MODEL_NAMES)})\1""")
#: Where models may be named: their own folders, the registry, and the samples.
MODEL_ROOMS = (
    "acvb_core/models",
    "acvb_core/registry.py",
    "acvb_core/samples",
    *(f"pages/ui/{row.folder}" for row in MODELS),
)
#: Where "network" is a kind of relation, and no model.
DATA_ROOMS = ("acvb_core/data", "acvb_core/store/codecs.py")
DATA_WORD = "network"

_Function = ast.FunctionDef | ast.AsyncFunctionDef
#: Nodes in which a definition can stand; expressions hold none.
_Block = ast.stmt | ast.ExceptHandler | ast.match_case


@cache
def _definitions(source: str) -> list[tuple[str, _Function | ast.ClassDef]]:
    """Return every function and class with its dotted name inside the module."""

    def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, _Function | ast.ClassDef]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _Function | ast.ClassDef):
                yield f"{prefix}{child.name}", child
                yield from walk(child, f"{prefix}{child.name}.")
            elif isinstance(child, _Block):
                yield from walk(child, prefix)

    return list(walk(ast.parse(source), ""))


def _is_compiled(node: ast.AST) -> bool:
    decorators = getattr(node, "decorator_list", [])
    return any(part in COMPILERS for d in decorators for part in re.findall(r"\w+", ast.unparse(d)))


def long_module(source: str) -> list[str]:
    return ["module"] if len(source.splitlines()) > MOST_LINES else []


def long_functions(source: str) -> list[str]:
    return [
        name
        for name, node in _definitions(source)
        if isinstance(node, _Function) and _code_lines(node) > MOST_FUNCTION_LINES and not _is_compiled(node)
    ]


def _code_lines(node: _Function) -> int:
    return _length(node) - (0 if ast.get_docstring(node) is None else _length(node.body[0]))


def _length(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def many_parameters(source: str) -> list[str]:
    """Return the public functions and methods with too many parameters, `self` not counted."""
    wide = []
    for name, node in _definitions(source):
        if isinstance(node, _Function) and not any(p.startswith("_") for p in name.split(".")):
            keywords = [] if name in TYPED_BY_USERS else node.args.kwonlyargs
            names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *keywords)]
            if len(names) - (names[:1] in (["self"], ["cls"])) > MOST_PARAMETERS:
                wide.append(name)
    return wide


def model_names(source: str) -> list[str]:
    """Return the names of models that stand in quotes, in code or in prose."""
    return sorted({name for _, name in _QUOTED.findall(source)})


def numpy_imports(source: str) -> list[str]:
    nodes = list(ast.walk(ast.parse(source)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return ["numpy"] if any(name.split(".")[0] in ("numpy", "scipy") for name in names) else []


def bare_participles(source: str) -> list[str]:
    """Return functions and classes that a past participle alone names; properties say what a thing is."""
    bare = []
    for name, node in _definitions(source):
        word = node.name.strip("_").lower()
        is_property = any(ast.unparse(d).endswith("property") for d in node.decorator_list)
        if not is_property and PARTICIPLE.fullmatch(word):
            bare.append(name)
    return bare


def docstring_starts(source: str) -> list[str]:
    """Return what has a docstring that begins with a word of a clause, `module` for the module's own."""
    starts = []
    for name, node in [("module", ast.parse(source)), *_definitions(source)]:
        first = (ast.get_docstring(node) or " ").split(None, 1)
        if first and first[0].rstrip(",.:") in FIRST_WORDS:
            starts.append(name)
    return starts


#: What is looked for in every module of the package and of the app.
EVERYWHERE: dict[str, Callable[[str], list[str]]] = {
    f"a module has at most {MOST_LINES} lines": long_module,
    f"a function has at most {MOST_FUNCTION_LINES} lines without its docstring": long_functions,
    f"a public function has at most {MOST_PARAMETERS} parameters": many_parameters,
    "a function is named by a verb, a class by a noun": bare_participles,
    "a docstring begins with what the thing is or does": docstring_starts,
}
MODELS_RULE = "a model is named in its own rooms only"
PAGES_RULE = "pages do not compute"


def modules(*places: str) -> Iterator[tuple[str, str]]:
    """Yield the path, relative to the checkout, and the source of every module of some places."""
    for place in places:
        path = ROOT / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            yield file.relative_to(ROOT).as_posix(), file.read_text()


def is_in(path: str, rooms: tuple[str, ...]) -> bool:
    return any(path == room or path.startswith(f"{room}/") for room in rooms)


def large_folders(paths: list[str]) -> dict[str, int]:
    """Return the folders with too many files, `__init__.py` not counted, and their numbers of files."""
    folders = Counter(path.rpartition("/")[0] for path in paths if not path.endswith("/__init__.py"))
    return {folder: count for folder, count in folders.items() if count > MOST_FILES}


def foreign_names(path: str, source: str) -> list[str]:
    """Return the names of models in a module that may not name them."""
    if is_in(path, MODEL_ROOMS):
        return []
    return [n for n in model_names(source) if not (n == DATA_WORD and is_in(path, DATA_ROOMS))]


def violations() -> dict[str, set[str]]:
    """Return for each rule what breaks it in this checkout: `path: name`."""
    code = list(modules("app.py", "pages", "acvb_core"))
    broken = {
        title: {f"{path}: {name}" for path, source in code for name in rule(source)}
        for title, rule in EVERYWHERE.items()
    }
    broken[MODELS_RULE] = {f"{path}: {name}" for path, source in code for name in foreign_names(path, source)}
    broken[PAGES_RULE] = {
        f"{path}: {name}" for path, source in modules("app.py", "pages") for name in numpy_imports(source)
    }
    return broken
