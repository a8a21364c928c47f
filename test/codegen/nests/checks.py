"""What the checks of nests share: the command line [TARGET [SEED [PART]]], random inputs, a line a check, the end.
A target is an architecture, or "gpu"; of the parts only those whose name contains PART run."""
import sys

import numpy as np

target = sys.argv[1] if len(sys.argv) > 1 else "x86-64-v3"
gpu = target == "gpu"  # whose kernels run here, thread by thread
arch = "x86-64-v2" if gpu else target
random = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
failures = 0


def check(what, ok, note=""):
    global failures
    failures += not ok
    print(f"{what}: {note}{'' if ok else '  FAILED'}")


def run_checks(*parts):
    """Runs the functions that the command line chooses, and exits."""
    for part in parts:
        if len(sys.argv) < 4 or sys.argv[3] in part.__name__:
            part()
    print("FAILED" if failures else "all passed")
    sys.exit(failures > 0)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def rows_of_sizes(count, width):
    """Rows that powers of two from 2^-20 to 2^19 scale."""
    return normal(count, width) * np.exp2(random.integers(-20, 20, (count, 1))).astype(np.float32)


def garbage(*shape):
    return np.full(shape, np.nan, np.float32)


def offsets(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def memref(*sizes, element="f32"):
    """The type; a size that is None is dynamic."""
    return f"memref<{'x'.join('?' if size is None else str(size) for size in sizes)}x{element}>"
