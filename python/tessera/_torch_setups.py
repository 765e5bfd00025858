"""Solvers of sparse solves in torch, which their backward passes use again."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ._solver import Solver


def transposed(crow: Tensor, col: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """CSR or BSR of the transpose."""
    size = crow.shape[0] - 1
    rows = torch.repeat_interleave(crow.diff(), output_size=col.shape[0])
    order = torch.argsort(col, stable=True)
    counts = torch.bincount(col, minlength=size)
    starts = torch.cat([counts.new_zeros(1), torch.cumsum(counts, 0)])
    turned = values[order]
    return starts, rows[order], (turned.mT if values.dim() == 3 else turned).contiguous()


class Setup:
    """The solver of a matrix, and for backward passes that of its transpose, which is the same one
    if the matrix is symmetric."""

    def __init__(self, solver: Callable[[], Solver | None]) -> None:
        self.solver = solver
        self.lock = threading.Lock()  # Autograd has threads of its own.
        self._seen = -1  # Updates of the solver when these were found.
        self._symmetric = False
        self._transposed: Solver | None = None

    def adjoint(self, crow: Tensor, col: Tensor, values: Tensor) -> Solver:
        """A solver of the transpose of the matrix, which has these values."""
        solver = self.solver()
        assert solver is not None
        if self._seen != solver._updates:
            self._symmetric = bool(solver._matrix.facts(None, [])["symmetric"])
            if not self._symmetric:
                self._transpose(solver, crow, col, values)
            self._seen = solver._updates
        found = solver if self._symmetric else self._transposed
        assert found is not None
        return found

    def _transpose(self, solver: Solver, crow: Tensor, col: Tensor, values: Tensor) -> None:
        transpose = transposed(crow, col, values)
        if self._transposed is not None:
            self._transposed.update(transpose)
            return
        if not isinstance(solver._m, str) or solver._near_null is not None:
            raise ValueError(
                "solver: the backward pass of a matrix that is not symmetric sets the "
                "preconditioner up for the transpose; make the solver with M as a text"
            )
        points: Any = solver._points
        self._transposed = Solver(
            transpose,
            method=solver._method,
            M=solver._m,
            coordinates=points if solver._unknowns is None else (points, solver._unknowns),
            format=solver._format,
        )


class Setups:
    """By number, for the operators of torch, which take numbers: those of the latest few forward
    passes, and those of solvers of the caller while these live."""

    most = 8

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._latest: OrderedDict[int, Setup] = OrderedDict()
        self._given: WeakKeyDictionary[Solver, tuple[int, Setup]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def keep(self, solver: Solver) -> int:
        with self._lock:
            number = next(self._numbers)
            self._latest[number] = Setup(lambda: solver)
            if len(self._latest) > self.most:
                self._latest.popitem(last=False)
            return number

    def number_of(self, solver: Solver) -> int:
        """The setup of a solver of the caller."""
        with self._lock:
            if solver not in self._given:
                self._given[solver] = next(self._numbers), Setup(weakref.ref(solver))
            return self._given[solver][0]

    def find(self, number: int) -> Setup | None:
        with self._lock:
            given = (each for each in self._given.values() if each[0] == number)
            return self._latest.get(number) or next(given, (0, None))[1]


setups = Setups()
