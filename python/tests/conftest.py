"""Arrays of each library and device that the tests run with; what is missing is skipped by name."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, settings

import tessera

settings.register_profile(
    "tessera", deadline=None, max_examples=40, suppress_health_check=list(HealthCheck),
    derandomize=True,
)  # fmt: skip
settings.load_profile("tessera")


class Arrays:
    """One library on one device."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.library, _, self.place = name.partition("-")
        self.on_gpu = self.place == "cuda"
        self.module: Any = np if self.library == "numpy" else None
        if self.library != "numpy":
            self.module = _import(self.library, name)
        if self.on_gpu and not tessera.devices():
            pytest.skip(f"{name}: no CUDA device, or tessera_cu13 is not installed")
        if self.library == "jax":
            self.module.config.update("jax_enable_x64", True)
            if not _jax_gpus(self.module):
                if self.on_gpu:
                    pytest.skip(f"{name}: JAX has no GPU")
                # Results belong where the arguments are, not on the default device.
                self.module.config.update("jax_default_device", self.module.devices("cpu")[1])

    def array(self, a: Any) -> Any:
        """A NumPy array as one of this library."""
        if self.library == "numpy":
            return a
        if self.library == "cupy":
            return self.module.asarray(a)
        if self.library == "torch":
            return self.module.from_numpy(np.ascontiguousarray(a)).to(self.place)
        if self.library == "jax":
            device = _jax_gpus(self.module)[0] if self.on_gpu else self.module.devices("cpu")[0]
            return self.module.device_put(np.asarray(a), device)
        return self.module.array(a, device="cuda:0" if self.on_gpu else "cpu")

    def numpy(self, a: Any) -> Any:
        """Back to NumPy."""
        if self.library == "cupy":
            return a.get()
        if self.library == "torch":
            return a.detach().cpu().numpy()
        if self.library == "warp":
            return a.numpy()
        return np.asarray(a)

    def csr(self, a: Any) -> Any:
        """A matrix of SciPy as one of this library."""
        a = sp.csr_matrix(a)
        if self.library == "cupy":
            sparse = importlib.import_module("cupyx.scipy.sparse")
            return sparse.csr_matrix(a)
        if self.library == "torch":
            torch = self.module
            return torch.sparse_csr_tensor(
                self.array(a.indptr), self.array(a.indices), self.array(a.data), size=a.shape
            )
        if self.library in ("jax", "warp"):
            return self.array(a.indptr), self.array(a.indices), self.array(a.data)
        return a

    def is_ours(self, a: Any) -> bool:
        """Whether an array is of this library and on this device."""
        if self.library == "numpy":
            return type(a) is np.ndarray
        if self.library == "cupy":
            return isinstance(a, self.module.ndarray)
        if self.library == "torch":
            return isinstance(a, self.module.Tensor) and a.device.type == self.place
        if self.library == "jax":
            place = _jax_gpus(self.module)[0] if self.on_gpu else self.module.devices("cpu")[0]
            return isinstance(a, self.module.Array) and a.devices() == {place}
        return isinstance(a, self.module.array) and a.device.is_cuda == self.on_gpu


def _import(library: str, name: str) -> Any:
    if library == "jax" and "jax" not in sys.modules:
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count=2"
    try:
        return importlib.import_module(library)
    except ImportError:
        pytest.skip(f"{name}: {library} is not installed")


def _jax_gpus(jax: Any) -> list[Any]:
    try:
        return list(jax.devices("gpu"))
    except RuntimeError:
        return []


KINDS = [
    "numpy-cpu", "torch-cpu", "jax-cpu", "warp-cpu",
    "cupy-cuda", "torch-cuda", "jax-cuda", "warp-cuda",
]  # fmt: skip


@pytest.fixture(params=KINDS)
def arrays(request: Any) -> Arrays:
    return Arrays(request.param)


def relative_residual(a: Any, x: Any, b: Any) -> float:
    """In float64, with matrix and vectors of NumPy and SciPy."""
    a, x, b = sp.csr_matrix(a, dtype=float), np.asarray(x, float), np.asarray(b, float)
    return float(np.linalg.norm(b.ravel() - a @ x.ravel()) / np.linalg.norm(b))


def spd(n: int = 60, seed: int = 1, dtype: Any = np.float64) -> Any:
    """A symmetric positive definite matrix with a random pattern."""
    rng = np.random.default_rng(seed)
    a = sp.random(n, n, 0.1, random_state=rng, format="csr")
    a = sp.csr_matrix(a + a.T)
    shift = abs(a).sum(axis=1).max() + 1
    return sp.csr_matrix(a + shift * sp.identity(n), dtype=dtype)


def general(n: int = 60, seed: int = 1, dtype: Any = np.float64) -> Any:
    """A nonsymmetric, diagonally dominant matrix."""
    rng = np.random.default_rng(seed)
    a = sp.random(n, n, 0.1, random_state=rng, format="csr")
    shift = abs(a).sum(axis=1).max() + 1
    return sp.csr_matrix(a + shift * sp.identity(n), dtype=dtype)


def elastic(size=6):
    p = tessera.problems(f"elasticity3d:{size}")
    return p.A, p.b, p.coordinates


def vector(n: int, seed: int = 2, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(seed).standard_normal(n).astype(dtype)
