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


PANELS_OF_PART = 2


def part_text(name, layout, ins, panel_type, scales=""):
    """`@name` packs PANELS_OF_PART panels of `panel_type` from the first given on: of `ins`, types by names, by `scales`."""
    types = {**ins, "%y": f"memref<{PANELS_OF_PART}x{panel_type}>"}
    arguments = ", ".join(f"{name}: {type}" for name, type in types.items())
    weights = ", ".join(name for name in ins if name != scales)
    of_scales = f"scales({scales})" if scales else ""
    return f"""
func.func @{name}(%at: memref<1xindex>, {arguments}) {{
  %zero = arith.constant 0 : index
  %first = memref.load %at[%zero] : memref<1xindex>
  transformer_cpu.pack_weight {layout} at %first ins({weights}) {of_scales} outs(%y) : ({", ".join(type for name, type in types.items() if name not in (scales, "%y"))}{f", {ins[scales]}" if scales else ""}, index, {types["%y"]}) -> ()
  return
}}"""


def check_parts(call, function, panels, *ins):
    """Whether parts, from each panel on, are those of the whole; behind its end nothing is written."""
    ok = True
    for first in range(len(panels)):
        part = np.full((PANELS_OF_PART, *panels.shape[1:]), 77, panels.dtype)
        wanted = part.copy()
        there = panels[first : first + PANELS_OF_PART]
        wanted[: len(there)] = there
        call(function, np.array([first], np.int64), *ins, part)
        ok &= part.tobytes() == wanted.tobytes()
    return ok


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
    """As programs place what they write: at a multiple of 64 bytes."""
    size = int(np.prod(shape))
    memory = np.full(size + 16, np.nan, np.float32)
    first = -memory.ctypes.data // 4 % 16
    return memory[first : first + size].reshape(shape)


def offsets(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def memref(*sizes, element="f32"):
    """The type; a size that is None is dynamic."""
    return f"memref<{'x'.join('?' if size is None else str(size) for size in sizes)}x{element}>"
