"""What `transformer.dropout` defines, in numpy: the factors that it multiplies numbers by."""

import numpy as np


def factors(key: int, rate: float, rows: np.ndarray, columns: np.ndarray, stream: int) -> np.ndarray:
    """[rows, columns], by Philox4x32-10 (Salmon et al. 2011)."""
    row, column = (a.astype(np.uint64) for a in np.meshgrid(rows, columns, indexing="ij"))
    counter = [column // 32 * 8 + column % 8, row, np.full(row.shape, stream, np.uint64), np.zeros(row.shape, np.uint64)]
    low, high, mask = key & 0xFFFFFFFF, key >> 32, np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = counter[0] * np.uint64(0xD2511F53), counter[2] * np.uint64(0xCD9E8D57)
        counter = [b >> np.uint64(32) ^ counter[1] ^ np.uint64(low), b & mask, a >> np.uint64(32) ^ counter[3] ^ np.uint64(high), a & mask]
        low, high = low + 0x9E3779B9 & 0xFFFFFFFF, high + 0xBB67AE85 & 0xFFFFFFFF
    word = np.choose((column % 32 // 8).astype(int), counter)
    return np.where(word < int(rate * 2**32), 0, np.float32(1 / (1 - rate))).astype(np.float32)
