"""The maps of the pseudo-hyperboloid in 50 digits, written with branches and textbook functions, apart from the package.

Vectors are lists of ``mpf``. ``B`` is ``|beta|`` and ``t`` the number of time coordinates.
"""

import mpmath as mp
import torch

mp.mp.dps = 50


def vector(row):
    return [mp.mpf(value) for value in row]


def vectors(tensor):
    return [vector(row) for row in tensor.tolist()]


def add(x, y, factor=1):
    return [a + factor * b for a, b in zip(x, y, strict=True)]


def scale(factor, x):
    return [factor * a for a in x]


def inner(x, y, t):
    return mp.fsum((-a * b if i < t else a * b) for i, (a, b) in enumerate(zip(x, y, strict=True)))


def length(x):
    return mp.sqrt(mp.fsum(a * a for a in x))


def cosine(x, y, B, t):
    """Return ``c`` of two points; a rounded point is off the manifold, and is read as what its space part and the direction of
    its time part say."""
    return -inner(project(x, B, t), project(y, B, t), t) / B


def angle(c):
    """Return the length in units of ``sqrt B``; broken for ``c <= -1``."""
    if c >= 1:
        return mp.acosh(c)
    return mp.acos(c) if c > -1 else mp.pi + mp.acosh(-c)


def dist(x, y, B, t):
    return mp.sqrt(B) * angle(cosine(x, y, B, t))


def signed_sqdist(x, y, B, t):
    c = cosine(x, y, B, t)
    return B * angle(c) ** 2 * (1 if c >= 1 else -1)


def expmap(x, v, B, t):
    z = inner(v, v, t) / B
    if z > 0:
        return add(scale(mp.cosh(mp.sqrt(z)), x), v, mp.sinh(mp.sqrt(z)) / mp.sqrt(z))
    if z < 0:
        return add(scale(mp.cos(mp.sqrt(-z)), x), v, mp.sin(mp.sqrt(-z)) / mp.sqrt(-z))
    return add(x, v)


def logmap(x, y, B, t):
    x, y = project(x, B, t), project(y, B, t)
    c = cosine(x, y, B, t)
    if c <= -1:
        return None
    if c == 1:
        return add(y, x, -1)
    ratio = mp.acosh(c) / mp.sqrt(c * c - 1) if c > 1 else mp.acos(c) / mp.sqrt(1 - c * c)
    return scale(ratio, add(y, x, -c))


def transport(x, y, u, B, t):
    """Transport along the geodesic; ``u`` is made tangent by changing its time part along that of ``x``."""
    x, y = project(x, B, t), project(y, B, t)
    missing = inner(u, x, t) / mp.fsum(a * a for a in x[:t])
    u = add(u[:t], x[:t], missing) + u[t:]
    c = cosine(x, y, B, t)
    if c <= -1:
        y, c = scale(-1, y), -c
    return add(u, add(x, y), inner(u, y, t) / (B * (1 + c)))


def project(x, B, t):
    time, space = x[:t], x[t:]
    radius = mp.sqrt(B + mp.fsum(a * a for a in space))
    return scale(radius / length(time), time) + space


def expmap0(u, B, t):
    turn, space = u[1:t], u[t:]
    theta = length(turn) / mp.sqrt(B)
    radius = mp.sqrt(B + mp.fsum(a * a for a in space))
    sine = mp.sin(theta) / length(turn) if theta else mp.mpf(0)
    return [radius * mp.cos(theta), *scale(radius * sine, turn), *space]


def logmap0(x, B, t):
    side = length(x[1:t])
    theta = mp.atan2(side, x[0])
    factor = mp.sqrt(B) * theta / side if side else mp.mpf(0)
    return [mp.mpf(0), *scale(factor, x[1:t]), *x[t:]]


def relative_error(result, truth):
    """Return the relative error of a number or, in norm, of a vector."""
    if isinstance(truth, list):
        size, gap = length(truth), length(add(vector(result), truth, -1))
    else:
        size, gap = abs(truth), abs(mp.mpf(result) - truth)
    return float(gap / size) if size else float(gap)


def worst_error(results, truths):
    pairs = zip(results.tolist(), truths, strict=True)
    return max(relative_error(result, truth) for result, truth in pairs)


def to_tensor(rows, dtype):
    return torch.tensor([[float(value) for value in row] for row in rows], dtype=dtype)
