#!/usr/bin/env python3
"""Fig. 4 of the condition-number paper: floating-point operations, with and without the condition.

Counted by running the elimination on numbers that count: multiplications, additions, divisions and
comparisons (pivots and maxima of the norms). Asserted: the overhead falls with every n and is
below 5 % at n = 32; the inversion takes 2 n^3 operations up to terms of lower order.
"""
import random

from measured_results import Figure


class Counter:
    count = 0


class Number:
    """A float that counts what is done with it."""

    def __init__(self, value):
        self.value = value

    def _counted(self, value):
        Counter.count += 1
        return Number(value)

    def __add__(self, other):
        return self._counted(self.value + other.value)

    def __sub__(self, other):
        return self._counted(self.value - other.value)

    def __mul__(self, other):
        return self._counted(self.value * other.value)

    def __truediv__(self, other):
        return self._counted(self.value / other.value)

    def __gt__(self, other):
        Counter.count += 1
        return self.value > other.value

    def __abs__(self):
        return Number(abs(self.value))  # Free: a sign bit.


def norm(a):
    largest = None
    for row in a:
        total = abs(row[0])
        for element in row[1:]:
            total = total + abs(element)
        if largest is None or total > largest:
            largest = total
    return largest


def invert(a):
    """Gauss-Jordan elimination in place with partial pivoting; row swaps are not undone, which
    changes no row sum of the inverse."""
    n = len(a)
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i][k]) > abs(a[pivot][k]):
                pivot = i
        a[k], a[pivot] = a[pivot], a[k]
        reciprocal = Number(1.0) / a[k][k]
        a[k] = [reciprocal if j == k else a[k][j] * reciprocal for j in range(n)]
        for i in range(n):
            if i != k:
                factor = a[i][k]
                a[i] = [a[i][j] - factor * a[k][j] for j in range(n) if j != k]
                a[i].insert(k, Number(-factor.value) * reciprocal)


def counts(n):
    generator = random.Random(n)
    a = [[Number(generator.gauss(0, 1)) for _ in range(n)] for _ in range(n)]
    Counter.count = 0
    first = norm(a)
    norm_count = Counter.count
    invert(a)
    inversion = Counter.count - norm_count
    first * norm(a)
    return inversion, Counter.count


figure = Figure(__file__, __doc__)
figure.expected()
pairs = {n: counts(n) for n in range(1, 33)}
for n, (without, together) in pairs.items():
    print(f"  {n:3}  {without:7}  {together:7}  {together / without - 1:6.1%}")
overheads = [together / without - 1 for without, together in pairs.values()]
figure.claim(
    "the overhead falls with every n",
    all(b < a for a, b in zip(overheads, overheads[1:])),
    f"{overheads[0]:.0%} at n = 1, {overheads[-1]:.1%} at n = 32",
)
figure.claim("the overhead is below 5 % at n = 32", overheads[-1] < 0.05)
figure.claim(
    "the inversion takes 2 n^3 operations up to lower order",
    all(abs(pairs[n][0] - 2 * n**3) <= 4 * n**2 for n in pairs),
    f"{pairs[32][0] / (2 * 32**3):.3f} of it at n = 32",
)
curves = {
    "inversion + condition number": {n: both for n, (_, both) in pairs.items()},
    "inversion": {n: alone for n, (alone, _) in pairs.items()},
}
figure.draw([("operations for one matrix", curves)], "n", "operations", log=True)
figure.finish()
