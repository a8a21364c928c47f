#!/usr/bin/env python3
"""Gradients of every op that has any, at odd sizes: differences of the loss beside the interpreter, and that beside the
compiled program, whose linear layers, and on a GPU attention, also multiply bfloat16 where the target does, and beside a GPU's
attention float16. An op with a backward that no case has fails."""

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from compare import RECOMPUTE, Tools, compare_compiled, compare_differences  # noqa: E402
from harness import Report  # noqa: E402
import quantize  # noqa: E402
from op_cases import CASES, LONG, SHORT, WITHOUT_DIFFERENCES, Case, case_of, head  # noqa: E402

CHUNK = 70  # rows of it, of a head's scores
DIALECT = Path(__file__).resolve().parents[2] / "dialect"


def differentiable_ops() -> set[str]:
    """As the dialect's definitions and what is registered for upstream's ops say."""
    own = [name for file in DIALECT.glob("*.td")
           for name, traits in re.findall(r'Transformer_Op<"(\w+)",(.*?)\{\n', file.read_text(), re.DOTALL)
           if "DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>" in traits]
    names = {f"transformer.{name}" for name in own}
    text = (DIALECT / "UpstreamGradients.cpp").read_text()
    for dialect, body in re.findall(r"MLIRContext \*context, (\w+)::\w+ \*\) \{(.*?)\n  \}\);", text, re.DOTALL):
        for name in re.findall(r"(\w+)Op::attachInterface", body):
            name = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
            names.add(f"{dialect}.{name.replace('_f', 'f') if dialect == 'arith' else name}")
    return names


def check(tools: Tools, scratch: Path, arch: str, differences: bool, exact: bool, write: Callable[[Case], None]) -> str | None:
    folder = scratch / write.__name__
    folder.mkdir()
    short, long = case_of(write, SHORT), case_of(write, LONG)
    kinds = RECOMPUTE if short.functions else RECOMPUTE[:1]
    try:
        for recompute in kinds if differences and write not in WITHOUT_DIFFERENCES else ():
            compare_differences(tools, short.loss(), folder, recompute)
        for recompute in kinds if exact else ():
            compare_compiled(tools, long.loss(), folder, arch, recompute, weights_are_inputs=True)
        if write == head and exact:
            compare_compiled(tools, long.loss(), folder, arch, kinds[0], weights_are_inputs=True, rows_of_chunk=CHUNK)
        is_gpu = tools.verify == "transformer-verify-threads"
        rounded = "transformer.linear|transformer.attention" if is_gpu else "transformer.linear"
        if (is_gpu or arch == "native" and quantize.multiplies_bfloat16()) and re.search(rounded, long.loss().text):
            of_float16 = tools.options and "transformer.attention" in long.loss().text  # its loops on a CPU have none
            for rounding in quantize.HALF_ROWS if of_float16 else (quantize.BF16_ROWS,):
                compare_compiled(tools, long.loss(), folder, arch, kinds[0], weights_are_inputs=True, rounding=rounding)
    except RuntimeError as error:
        return str(error)
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, required=True, help="the folder of transformer-opt and the others")
    parser.add_argument("--arch", default="native", help="as of transformer-compile")
    parser.add_argument("--verify", default="transformer-verify", help="transformer-verify-threads: for a GPU's kernels")
    parser.add_argument("--target", help="of transformer-verify-threads: cuda, for the program on a driver")
    parser.add_argument("--only", nargs="+", help="cases (default: all)")
    parser.add_argument("--compiled-only", action="store_true", help="no differences of the loss")
    parser.add_argument("--rounded-only", action="store_true", help="nor programs that multiply float32")
    options = parser.parse_args()
    report = Report()
    tools = Tools(options.tools.resolve(), options.verify, ("--target", options.target) if options.target else ())
    cases = [write for write in CASES if not options.only or write.__name__ in options.only]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:
        exact, differences = not options.rounded_only, not (options.rounded_only or options.compiled_only)
        reasons = pool.map(partial(check, tools, Path(scratch), options.arch, differences, exact), cases)
        for write, reason in zip(cases, reasons):
            report.add(f"gradients/{write.__name__}", reason and reason.replace("\n", " | "))
    texts = "".join(case_of(write, SHORT).loss().text for write in CASES)
    missing = sorted(name for name in differentiable_ops() if not re.search(rf"\b{re.escape(name)}\b", texts))
    report.add("gradients/every op", f"in no case: {', '.join(missing)}" if missing else None)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
