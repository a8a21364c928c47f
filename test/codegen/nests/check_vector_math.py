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
    %r = math.{op} %v : vector<{lanes}xf32>
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
    %r = math.{op} %v : f32
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
library = nests.build("".join(body(n, n) for n in FUNCTIONS), checks.arch)
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
sys.exit(checks.failures > 0)
