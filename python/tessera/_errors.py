"""Errors of the library as errors about arguments of this package."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from ._backend import core

# Names of arguments of the library, and what this package calls them.
_NAMES = {
    "solver": "method",
    "preconditioner": "M",
    "matrix": "A",
    "format": "format",
    "coordinates": "coordinates",
    "near_null": "near_null",
    "null_space": "nullspace",
    "b": "b",
    "x": "x0",
    "left_preconditioning": "left",
}


# Names of C++ functions, with which their messages begin.
_CPP_NAMES = r"^(borrow_\w+|write_\w+|block_triangular_solve|polynomial_terms|null space): "

ParseError: Any = vars(core)["ParseError"]  # The stub of the core has no exceptions.


def refuse_pickle(held: object) -> NoReturn:
    """What pickle and copy get of an object whose memory is the library's."""
    raise TypeError(
        f"{type(held).__name__} cannot be pickled or copied: it holds memory and threads of this "
        "process; pickle the matrix and the options, and make it again there"
    )


def fault(matrix: Any, text: str) -> str:
    """Why a setup failed: `text`, unless the matrix of the core holds NaN or infinity, which
    explains all else. It reads all values, so call it only after a failure."""
    row = matrix.non_finite_row()
    return text if row < 0 else f"row {row} holds NaN or infinity"


def raise_named(
    error: ValueError, default: str, matrix: Any = None, /, **names: str
) -> NoReturn:
    """Raises an error of the library again with the name of the argument at fault in front of the
    message.

    `default` is the name if the library gives none, or one that is not known here. `matrix`, of the
    core, is at fault if it holds NaN or infinity. `names` are names of arguments that differ from
    `_NAMES` in this call. An error of Python code, such as a callback, is raised as it is.
    """
    argument = getattr(error, "argument", None)
    if argument is None:
        raise error
    names = _NAMES | names
    text = re.sub(_CPP_NAMES, "", str(error))
    found = text if matrix is None else fault(matrix, text)
    name = names["matrix"] if found != text else names.get(argument, default)
    raise ValueError(f"{name}: {found}") from None
