"""What the checks of kernels on words of two bfloat16 share."""
import sys
from pathlib import Path

import numpy as np

from checks import arch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import quantize  # noqa: E402

BF16_ARCH = "cooperlake"  # the first with AVX-512 BF16
has_bf16 = arch == "x86-64-v4" and quantize.multiplies_bfloat16()


def pairs(x, axis):
    """Neighbours along an axis as bfloat16 in the halves of words, 0 behind the last."""
    bits = np.moveaxis(quantize.to_bf16(x).view(np.uint32) >> 16, axis, 0)
    if len(bits) % 2:
        bits = np.concatenate([bits, np.zeros_like(bits[:1])])
    return np.moveaxis(bits[::2] | bits[1::2] << 16, 0, axis)
