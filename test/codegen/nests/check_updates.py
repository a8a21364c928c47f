"""Compares Adafactor's steps with double precision on random shapes."""
import numpy as np

import nests
from checks import arch, check, garbage, memref, normal, run_checks

SCALE, KEEP, SHARE, SHRINK, RATE, EPS1, EPS2, THRESHOLD = 0.5, 0.625, 0.375, 0.875, 0.125, 2**-10, 0.0625, 1.125
VECTORS = [(1,), (5,), (33,), (3001,)]
MATRICES = [(1, 1, 1), (1, 3, 5), (1, 7, 1), (1, 1, 70), (1, 300, 40), (1, 130, 33), (1, 513, 768)]  # how many, N, W
SHAPES = VECTORS + MATRICES + [(4, 3, 5), (9, 1, 3), (2, 7, 33), (40, 16, 16), (5, 80, 3)]


def update_text(name, shape):
    of_gradient = memref(*flat(shape))
    outs = [memref(*size) for size in (flat(shape), *moment_sizes(shape), *scratch_sizes(shape))]
    numbers = zip(("%scale", "%keep", "%share", "%shrink", "%rate", "%eps1", "%eps2", "%threshold"),
                  (SCALE, KEEP, SHARE, SHRINK, RATE, EPS1, EPS2, THRESHOLD), ["f32"] * 4 + ["f64"] * 4)
    constants = "".join(f"  {value} = arith.constant {number:e} : {kind}\n" for value, number, kind in numbers)
    return f"""
func.func @{name}(%g: {of_gradient}, {", ".join(f"%o{i}: {out}" for i, out in enumerate(outs))}) {{
{constants}  transformer_kernel.adafactor_update ins(%g) scale %scale moments(%keep, %share) shrink %shrink rate %rate eps(%eps1, %eps2) clip_threshold %threshold
    outs({", ".join(f"%o{i}" for i in range(len(outs)))}) : ({of_gradient}, f32, f32, f32, f32, f64, f64, f64, f64, {", ".join(outs)}) -> ()
  return
}}"""


def flat(shape):
    """Matrices one below the other."""
    return (shape[0] * shape[1], shape[2]) if len(shape) == 3 else shape


def moment_sizes(shape):
    return [(shape[0] * shape[1], 1), (shape[0], shape[2])] if len(shape) == 3 else [shape]


def scratch_sizes(shape):
    return [(shape[0],), (shape[0] * shape[1],)] if len(shape) == 3 else [(1,)]


def exact(gradient, parameter, moments, real):
    """Of a vector, or of matrices."""
    g, p = (x.astype(real) * real(scale) for x, scale in ((gradient, SCALE), (parameter, 1)))
    is_factored = g.ndim == 3
    means = [(g * g).mean(axis, keepdims=True) for axis in (2, 1)] if is_factored else [g * g]
    moments = [real(KEEP) * m.astype(real).reshape(mean.shape) + real(SHARE) * mean for m, mean in zip(moments, means)]
    v = moments[0]
    if is_factored:
        v = v * moments[1] / np.maximum(v.mean(1, keepdims=True), real(EPS1))
    u = g / np.sqrt(np.maximum(v, real(EPS1**2)))
    size = real(RATE) * max(real(EPS2), np.sqrt((p * p).mean())) / max(real(1), np.sqrt((u * u).mean()) / real(THRESHOLD))
    return [real(SHRINK) * p - size * u, *moments]


def check_adafactor():
    library = nests.build("".join(update_text(f"f{i}", shape) for i, shape in enumerate(SHAPES)), arch)
    for i, shape in enumerate(SHAPES):
        for what, of_gradient, of_parameter in (("", 1, 1), (" small gradient", 1e-6, 1), (" small weight", 1, 1e-3)):
            gradient, parameter = normal(*shape) * np.float32(of_gradient), normal(*shape) * np.float32(of_parameter)
            gradient.reshape(flat(shape))[0] = 0
            moments = [np.abs(normal(*size)) * np.float32(of_gradient**2) for size in moment_sizes(shape)]
            got = [parameter.copy(), *(moment.copy() for moment in moments)]
            nests.call(library[f"f{i}"], *(x.reshape(flat(shape)) for x in (gradient, got[0])), *got[1:],
                       *(garbage(*size) for size in scratch_sizes(shape)))
            want, plain = (exact(gradient, parameter, moments, real) for real in (np.float64, np.float32))
            errors, references = ([np.abs(x.reshape(w.shape) - w).max() / np.abs(w).max() for x, w in zip(some, want)]
                                  for some in (got, plain))
            ok = all(error <= 2 * reference + 2e-7 for error, reference in zip(errors, references))
            note = f"error {max(errors):.1e} (numpy float32 {max(references):.1e})"
            check(f"adafactor_update {'x'.join(map(str, shape))}{what}", ok, note)


run_checks(check_adafactor)
