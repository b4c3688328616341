"""References to functions and classes: their module is imported when they are first used, so tables cost nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Reference:
    """A function or class, by its module and name; calling it calls what it stands for."""

    module: str
    name: str

    def load(self) -> Any:
        """Import the module and return the function or class."""
        return getattr(import_module(self.module), self.name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call what it stands for."""
        return self.load()(*arguments, **options)

    def is_instance(self, value: Any) -> bool:
        """Return whether a value is an instance of the class; there is none before its module was imported."""
        module = sys.modules.get(self.module)
        return module is not None and isinstance(value, getattr(module, self.name))


def references_to(module: str) -> Callable[[str], Reference]:
    """Return what makes references to a module from names, as `references_to("evaluate.split")("hold_out")` does."""
    return partial(Reference, f"acvb_core.{module}")
