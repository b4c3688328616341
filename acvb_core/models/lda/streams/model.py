"""LDA on a corpus that is kept on disk: topics of all of it, documents of a sample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from acvb_core.data.corpus import Corpus
from acvb_core.models.lda.model import LdaModel

#: Documents of a corpus on disk that are shown.
SHOWN = 2_000


@dataclass(frozen=True, eq=False)
class DiskLdaModel(LdaModel):
    """What can be said of topics of a `DiskCorpus` (a `Model`)."""

    corpus: Any

    @cached_property
    def shown(self) -> Corpus:
        """The documents whose topics are shown: 2,000 drawn from all, or all of fewer."""
        sample: Corpus = self.corpus.sample(min(SHOWN, self.corpus.n_documents))
        return sample
