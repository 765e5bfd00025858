"""What Tessera does with the arrays of each library: NumPy, CuPy, torch, JAX, Warp, others.

No library is imported here that the caller has not imported: one whose array was passed is in
``sys.modules``. Results are made by the library of the caller on the caller's device.
"""

from .base import FLOAT32, FLOAT64, HOST, INT32, Kind, View
from .cupy import CupyKind
from .interface import InterfaceKind
from .jax import JaxKind
from .numpy import NUMPY
from .torch import TorchKind
from .warp import WarpKind

__all__ = [
    "CUPY",
    "FLOAT32",
    "FLOAT64",
    "HOST",
    "INT32",
    "JAX",
    "NUMPY",
    "OTHER",
    "TORCH",
    "WARP",
    "Kind",
    "View",
]

CUPY = CupyKind()
TORCH = TorchKind()
JAX = JaxKind()
WARP = WarpKind()
OTHER = InterfaceKind()
