"""Calls in a floating-point environment that the program around has set.

Each test runs in a process of its own: a trap ends it, and the mode must not stay.
"""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() != "x86_64",
    reason="sets the register of x86-64 through the C library of Linux",
)

#: Bits of MXCSR: denormal numbers flushed; overflow, division by zero and invalid trap; rounding.
SET = {"flush": (0x8040, 0), "trap": (0, 0x0680), "up": (0x4000, 0), "zero": (0x6000, 0)}

PRELUDE = """
import ctypes, ctypes.util, struct
import numpy as np
import tessera
from tessera import batched

libm = ctypes.CDLL(ctypes.util.find_library("m"))
AT = 28  # Of MXCSR in fenv_t.

def environment():
    saved = ctypes.create_string_buffer(64)
    libm.fegetenv(saved)
    return saved

def control():
    return struct.unpack_from("<I", environment(), AT)[0] & ~0x3f

def change(more, less):
    now = environment()
    bits = struct.unpack_from("<I", now, AT)[0]
    struct.pack_into("<I", now, AT, ((bits | more) & ~less) & ~0x3f)
    libm.fesetenv(now)

def bits(array):
    return np.asarray(array).view(np.uint8).tobytes()

A = tessera.problems("poisson2d:12").A
"""


def run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("mode", SET)
def test_solves_give_the_bits_of_the_default_environment(mode):
    run(f"""
more, less = {SET[mode]}
def solutions():
    found = []
    for scale in (1e-310, 1.0, 1e200):
        for options in ({{}}, dict(method="cg", M="jacobi"), dict(method="gmres", M="amg")):
            made = tessera.solve(A, np.full(144, scale), **options)
            assert made.status == "converged", (scale, options, made)
            found.append(bits(made.x))
        x, info = tessera.cg(A, np.full(144, scale))
        assert info == 0
        found.append(bits(x))
    return found

expected = solutions()
change(more, less)
before = control()
found = solutions()
after = control()
change(0, 0xffff)
change(0x1f80, 0)
assert found == expected
assert after == before and before != 0x1f80, (hex(before), hex(after))
""")


@pytest.mark.parametrize("mode", SET)
def test_batches_and_preconditioners(mode):
    run(f"""
more, less = {SET[mode]}
random = np.random.default_rng(1)
a = random.standard_normal((5, 6, 6)) + 8 * np.eye(6)
tiny, large, r = a * 1e-300, a * 1e307, np.full(144, 1e-310)
def computed():
    found = [bits(batched.inv(tiny)), bits(batched.inv(large))]
    for text in ("block_jacobi:8", "amg", "direct"):
        found.append(bits(tessera.preconditioner(A, text) @ r))
    return found

expected = computed()
change(more, less)
before = control()
found = computed()
after = control()
change(0, 0xffff)
change(0x1f80, 0)
assert found == expected
assert after == before, (hex(before), hex(after))
""")
