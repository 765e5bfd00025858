"""The extension in use: that of the package tessera_cu13, if it is installed, else the own one.

Both are the same program, the first one with the CUDA backend; one alone is loaded. Importing it
starts neither CUDA nor a thread.
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
        if importlib.util.find_spec("tessera_cu13") is not None:
            ours = importlib.import_module("tessera._version").__version__
            theirs = importlib.import_module("tessera_cu13._version").__version__
            if ours == theirs:
                return importlib.import_module("tessera_cu13._core")
            warnings.warn(
                f"tessera_cu13 {theirs} is left out, as tessera is {ours}: install "
                f"tessera-sparse-cu13=={ours}",
                RuntimeWarning,
                stacklevel=4,
            )
        return importlib.import_module("tessera._core")

    core = _load()
