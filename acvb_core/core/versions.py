"""Versions of a process, and how they differ from this one's: the same versions give the same bits."""

from __future__ import annotations

import hashlib
import platform
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

#: Libraries whose versions may change a bit of a result.
LIBRARIES = ("numpy", "scipy", "pandas", "numba", "llvmlite", "scikit-learn")


@cache
def describe_process() -> dict[str, str]:
    """Return the versions of this process: of the package and its sources, of libraries, and the kind of processor."""
    import llvmlite.binding

    return {
        "acvb_core": sys.modules["acvb_core"].__version__,
        "sources": _digest_sources(),
        "Python": platform.python_version(),
        **{name: metadata.version(name) for name in LIBRARIES},
        "processor": llvmlite.binding.get_host_cpu_name(),
    }


def _digest_sources() -> str:
    """Return a digest of the package's sources: between two releases many programs have the same version."""
    folder, digest = Path(__file__).resolve().parents[1], hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def refuse_versions(there: dict[str, str]) -> str | None:
    """Return why a worker cannot compute the runs of this process, in a sentence; None if it can."""
    here = describe_process()
    if there["acvb_core"] != here["acvb_core"]:
        return (
            f"It has version {there['acvb_core']} of acvb_core, and this program {here['acvb_core']}. Install the same "
            "version there."
        )
    if there["sources"] != here["sources"]:
        return (
            f"It has other sources of acvb_core {here['acvb_core']} than this program (digest {there['sources']}, here "
            f"{here['sources']}). Install the same sources there."
        )
    return None


def list_differences(there: dict[str, str]) -> list[str]:
    """Return in what a worker differs from this process, so that the last bits of its results may differ."""
    here = describe_process()
    names = [name for name in here if name not in ("acvb_core", "sources")]
    return [f"{name} {there[name]}, here {here[name]}" for name in names if there.get(name) != here[name]]
