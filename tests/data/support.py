"""What the tests of reading share: tokenisers that keep words, and bytes of files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

from acvb_core.data.corpora.tokenise import Tokeniser

EVERYTHING = Tokeniser(stop_words=(), numbers=True, min_documents=1, max_share=1.0)
EVERY_WORD = Tokeniser(min_documents=1, max_share=1.0)


def saved(save: Callable[..., Any], *given: Any, **named: Any) -> bytes:
    """Return what a function writes to an open file."""
    out = io.BytesIO()
    save(out, *given, **named)
    return out.getvalue()


def zipped(files: Mapping[str, str | bytes], **options: Any) -> bytes:
    """Return a zip archive of files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", **options) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()
