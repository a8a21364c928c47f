"""Measures the error of the vector math functions against exact values and
fails where it is above the bound that VectorMath.h states."""
import sys

import mpmath
import numpy as np

import checks
import nests

mpmath.mp.prec = 120
lanes = nests.vector_lanes(checks.arch)


def f(exact):
    return lambda x: np.array([float(exact(mpmath.mpf(float(v)))) for v in x])


def body(name, op):
    return f"""
func.func @{name}(%x: memref<?xf32>, %y: memref<?xf32>) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %step = arith.constant {lanes} : index
  scf.for %i = %c0 to %n step %step {{
    %v = vector.load %x[%i] : memref<?xf32>, vector<{lanes}xf32>
    %r = {op} : vector<{lanes}xf32>
    vector.store %r, %y[%i] : memref<?xf32>, vector<{lanes}xf32>
  }}
  return
}}
func.func @{name}_scalar(%x: memref<?xf32>, %y: memref<?xf32>) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %step = arith.constant 1 : index
  scf.for %i = %c0 to %n step %step {{
    %v = memref.load %x[%i] : memref<?xf32>
    %r = {op} : f32
    memref.store %r, %y[%i] : memref<?xf32>
  }}
  return
}}
"""


FUNCTIONS = {  # name: exact function, interval, bound in ulp
    "exp": (mpmath.exp, (-106, 90), 1.1),
    "exp2": (lambda v: mpmath.power(2, v), (-152, 129), 1.1),
    "tanh": (mpmath.tanh, (-10, 10), 1.5),
    "erf": (mpmath.erf, (-5, 5), 2.0),
}
library = nests.build("".join(body(n, f"math.{n} %v") for n in FUNCTIONS), checks.arch)
generator = np.random.default_rng(1)
for name, (exact, (low, high), bound) in FUNCTIONS.items():
    tiny = np.float32(2.0) ** generator.integers(-149, 3, 1000).astype(np.float32)
    x = np.concatenate([generator.uniform(low, high, 20000), generator.uniform(-2, 2, 8000), tiny,
                        -tiny]).astype(np.float32)
    x = x[: len(x) // lanes * lanes]
    y, scalar = np.zeros_like(x), np.zeros_like(x)
    nests.call(library[name], x, y)
    nests.call(library[name + "_scalar"], x, scalar)
    want = f(exact)(x)
    finite = np.abs(want) < np.finfo(np.float32).max
    error = nests.ulps(y[finite], want[finite])
    ok = error <= bound and np.array_equal(y, scalar) and np.isinf(y[~finite]).all()
    special = np.resize(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30], np.float32), 16 * lanes)
    got = np.zeros_like(special)
    nests.call(library[name], special, got)
    with np.errstate(all="ignore"):
        limits = {"exp": np.exp, "exp2": np.exp2, "tanh": np.tanh,
                  "erf": np.sign}[name](special)
    ok &= np.array_equal(got, limits.astype(np.float32), equal_nan=True)
    if name in ("tanh", "erf"):
        ok &= np.array_equal(np.signbit(got[special == 0]), np.signbit(special[special == 0]))
    checks.check(name, ok, f"{error:.2f} ulp (bound {bound})")


def sigmoid(x):
    return np.where(x > 0, 1, np.exp(-np.abs(x))) / (1 + np.exp(-np.abs(x)))


def gelu_tanh(x):
    u, slope = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3), np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
    s = sigmoid(2 * u)
    return s + 2 * x * s * sigmoid(-2 * u) * slope


def of_sigmoid(a):
    return lambda x: sigmoid(a * x) * (1 + a * x * sigmoid(-a * x))


DERIVATIVES = {  # times the gradient, here x itself
    "gelu": lambda x: (1 + f(mpmath.erf)(x / np.sqrt(2))) / 2 + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi),
    "gelu_tanh": gelu_tanh, "silu": of_sigmoid(1), "quick_gelu": of_sigmoid(1.702), "tanh": lambda x: 1 / np.cosh(x) ** 2,
}
library = nests.build("".join(body(n, f"transformer.activation_gradient {n} %v, %v") for n in DERIVATIVES), checks.arch)
for name, derivative in DERIVATIVES.items():
    x = np.concatenate([generator.uniform(-15, 15, 8000), generator.uniform(-1, 1, 4000)]).astype(np.float32)
    y, scalar = np.zeros_like(x), np.zeros_like(x)
    nests.call(library[name], x, y)
    nests.call(library[name + "_scalar"], x, scalar)
    want = derivative(x.astype(np.float64))
    error = np.abs(y.astype(np.float64) / x - want).max()
    checks.check(f"derivative of {name}", error < 4e-7 and np.array_equal(y, scalar), f"error {error:.1e}")
far = np.resize(np.array([np.nan, np.inf, -np.inf, 1e30, -1e3, 90, -90, 0], np.float32), 16 * lanes)
for name in ("gelu_tanh", "silu", "quick_gelu"):
    got = np.zeros_like(far)
    nests.call(library[name], far, got)
    ok = np.isnan(got[0]) and np.array_equal(got[[1, 3, 5, 7]], far[[1, 3, 5, 7]]) and (np.abs(got[[4, 6]]) < 1e-30).all()
    checks.check(f"derivative of {name} far out", ok)
sys.exit(checks.failures > 0)
