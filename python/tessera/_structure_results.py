"""What is found from displacements of a structure."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._backend import core
from ._coordinates import host_array

__all__ = ["ErrorEstimate", "Resultant", "Section", "von_mises"]


class Resultant(NamedTuple):
    """Forces as a whole.

    Attributes
    ----------
    force : numpy.ndarray of shape (dimensions,)
        Their sum.
    moment : numpy.ndarray of shape (3,), or float in two dimensions
        The sum of their moments about the origin.
    """

    force: Any
    moment: Any


class Section(NamedTuple):
    """What passes through a plane cut of a structure.

    Attributes
    ----------
    force : numpy.ndarray of shape (dimensions,)
        Of the part ahead, along the normal, on the part behind.
    moment : numpy.ndarray of shape (3,), or float in two dimensions
        Likewise, about the centre.
    centre : numpy.ndarray of shape (dimensions,)
        The centroid of the cut.
    normal : numpy.ndarray of shape (dimensions,)
        Of length 1; its largest component is positive.
    """

    force: Any
    moment: Any
    centre: Any
    normal: Any


class ErrorEstimate(NamedTuple):
    """How far a solution is from that of an infinitely fine mesh, in the energy norm.

    Attributes
    ----------
    relative : float
        Of the norm of the exact solution, 0 to 1.
    elements : numpy.ndarray
        The part of each element; their squares add up to that of `relative`.
    """

    relative: float
    elements: Any


def von_mises(stresses: Any) -> Any:
    """Von Mises' equivalent stress of each tensor.

    Parameters
    ----------
    stresses : array of shape (n, 6)
        As `Structure.stresses` returns them.

    Returns
    -------
    numpy.ndarray of shape (n,)

    Raises
    ------
    ValueError
        For other shapes.

    Examples
    --------
    >>> from tessera.structures import von_mises
    >>> von_mises([[3.0, 0, 0, 0, 0, 0]])
    array([3.])
    """
    found = host_array(stresses, "stresses")
    if found.ndim != 2 or found.shape[1] != 6:
        raise ValueError(f"stresses: the shape {found.shape} is not (n, 6)")
    return core.von_mises(found.ravel())
