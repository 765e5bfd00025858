"""The extension in use: that of the package tessera_cu13, if it is installed, else the own one.

Both are the same program, the first one with the CUDA backend; one alone is loaded. Importing it
starts neither CUDA nor a thread.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

__all__ = ["core"]

if TYPE_CHECKING:
    from . import _core as core
else:

    def _name_cudss():
        """Names the library of the package nvidia-cudss-cu13 where it is not on the path."""
        nvidia = importlib.util.find_spec("nvidia")
        for folder in (nvidia and nvidia.submodule_search_locations) or ():
            library = Path(folder) / "cu13" / "lib" / "libcudss.so.1"
            if library.exists():
                os.environ.setdefault("TESSERA_CUDSS", str(library))

    def _load():
        if importlib.util.find_spec("tessera_cu13") is not None:
            ours = importlib.import_module("tessera._version").__version__
            theirs = importlib.import_module("tessera_cu13._version").__version__
            if ours == theirs:
                _name_cudss()
                return importlib.import_module("tessera_cu13._core")
            warnings.warn(
                f"tessera_cu13 {theirs} is left out, as tessera is {ours}: install "
                f"tessera-sparse-cu13=={ours}",
                RuntimeWarning,
                stacklevel=4,
            )
        return importlib.import_module("tessera._core")

    core = _load()
