"""Files of NumPy's, read by several threads of one process."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from threading import RLock
from typing import Any

#: To be held while NumPy reads a file. It reads the header with `ast`, which two threads must not enter at once before
#: Python 3.11.8: one of them may get a SystemError (https://github.com/python/cpython/issues/106905).
ONE_READER: AbstractContextManager[Any] = RLock() if sys.version_info < (3, 11, 8) else nullcontext()
