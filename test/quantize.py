"""What `transformer.quantize_weight` and `quantize_rows` define, in numpy: the values that a linear layer
multiplies when its weight is kept in a narrow format, and its rows are read as integers. Weights are
[outputs, inputs], rows [T, inputs]."""

from pathlib import Path

import numpy as np

FORMATS = ("bf16", "int8", "int4")
INTEGER_ROWS = ("int8/int8", "int4/int8")  # weights in such a format, and rows of integers
BF16_ROWS = "bf16/bf16"  # for CPUs that multiply bfloat16
HALF_ROWS = (BF16_ROWS, "f16/f16")  # for GPUs
TF32 = "tf32/tf32"  # likewise
GROUP = 32  # inputs that share a scale of int4, and features of a row


def multiplies_bfloat16() -> bool:
    """Whether this CPU does."""
    return "avx512_bf16" in Path("/proc/cpuinfo").read_text().split()


def to_bf16(values: np.ndarray) -> np.ndarray:
    """The nearest bfloat16, ties to even, as float32; NaN stays."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = ((bits + (0x7FFF + (bits >> 16 & 1))) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(values), np.float32(np.nan), rounded)


def to_f16(values: np.ndarray) -> np.ndarray:
    """The nearest float16, ties to even, as float32; what is too large is infinite, NaN stays."""
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float32).astype(np.float16).astype(np.float32)


def to_tf32(values: np.ndarray) -> np.ndarray:
    """The nearest number of 11 digits, ties away from zero, as float32; NaN stays."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = ((bits + 0x1000) & 0xFFFFE000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(values), np.float32(np.nan), rounded)


HALVES = {"bf16": to_bf16, "f16": to_f16}
WITHOUT_SCALES = {**HALVES, "tf32": to_tf32}


def quantize(weight: np.ndarray, form: str) -> tuple[np.ndarray, np.ndarray]:
    """Integers, [N, K], and their scales, [N, 1] (int8) or [N, groups] (int4)."""
    outputs, inputs = weight.shape
    size, least, most = (inputs, -127, 127) if form == "int8" else (GROUP, -8, 7)
    groups = -(-inputs // size)
    padded = np.zeros((outputs, groups * size), np.float32)
    padded[:, :inputs] = weight
    grouped = padded.reshape(outputs, groups, size)
    with np.errstate(all="ignore"):
        largest, smallest = grouped.max(2), grouped.min(2)
        if form == "int8":
            scales = np.maximum(largest, -smallest) / np.float32(127)
        else:
            scales = to_bf16(np.where(largest >= -smallest, largest, smallest) / np.float32(-8))
        scales = np.where(np.isfinite(grouped).all(2), scales + np.float32(0), np.float32(np.nan))  # no -0
        quotients = grouped / scales[:, :, None]
    quotients = np.where(np.isnan(quotients), np.float32(0), quotients)
    integers = np.clip(np.rint(quotients), least, most).astype(np.int32)
    return integers.reshape(outputs, -1)[:, :inputs], scales


def rounded(weight: np.ndarray, form: str) -> np.ndarray:
    """The values, float32."""
    if form in WITHOUT_SCALES:
        return WITHOUT_SCALES[form](weight)
    integers, scales = quantize(weight, form)
    repeated = np.repeat(scales, weight.shape[1] if form == "int8" else GROUP, axis=1)[:, : weight.shape[1]]
    return (integers.astype(np.float32) * repeated).astype(np.float32)


def options(form: str) -> list[str]:
    """Of transformer-compile."""
    weights, _, rows = form.partition("/")
    if rows == "tf32":
        return ["--activations-dtype", rows]  # how weights are multiplied, too, not how they are kept
    return ["--weights-dtype", weights, *(["--activations-dtype", rows] if rows else [])]


def quantize_rows(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integers, [T, groups, GROUP] (0 behind the last feature), and their scales, [T, groups]."""
    rows, width = x.shape
    groups = -(-width // GROUP)
    padded = np.zeros((rows, groups * GROUP), np.float32)
    padded[:, :width] = x
    grouped = padded.reshape(rows, groups, GROUP)
    with np.errstate(all="ignore"):
        most = np.where(np.isfinite(grouped).all(2), np.abs(grouped).max(2), np.float32(np.nan))
        inverses = np.float32(127) / most
        quotients = grouped * np.where(np.isfinite(inverses), inverses, np.float32(0))[:, :, None]
    return np.rint(np.where(np.isfinite(quotients), quotients, 0)).astype(np.int32), most / np.float32(127)


def rounded_rows(x: np.ndarray, form: str) -> np.ndarray:
    """The values, float32, of rows in `bf16`, `f16`, `tf32` or `int8`."""
    if form in WITHOUT_SCALES:
        return WITHOUT_SCALES[form](x)
    integers, scales = quantize_rows(x)
    return (integers.astype(np.float32) * scales[:, :, None]).reshape(len(x), integers.shape[1] * GROUP)[:, : x.shape[1]]
