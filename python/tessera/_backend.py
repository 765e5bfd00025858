"""The extension in use: that of the package tessera_cu13, if it is installed, else the own one.

Both are the same program, the first one with the CUDA backend. Importing it starts neither CUDA nor
a thread.
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from typing import TYPE_CHECKING

__all__ = ["core"]

if TYPE_CHECKING:
    from . import _core as core
else:

    def _load():
        own = None
        if importlib.util.find_spec("tessera_cu13") is not None:
            cuda = importlib.import_module("tessera_cu13._core")
            try:
                own = importlib.import_module("tessera._core")
            except ImportError:  # A folder with the CUDA package alone.
                return cuda
            if cuda.version() == own.version():
                return cuda
            warnings.warn(
                f"tessera_cu13 {cuda.version()} is left out: tessera is {own.version()}. Install "
                f"tessera-sparse-cu13=={own.version()}",
                RuntimeWarning,
                stacklevel=4,
            )
        return own or importlib.import_module("tessera._core")

    core = _load()
