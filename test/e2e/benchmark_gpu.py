#!/usr/bin/env python3
"""benchmark/gpu with tiny sizes and our programs alone on the driver that LD_LIBRARY_PATH leads to, an emulated one: what
it measures, writes and refuses.

Needs numpy and safetensors, none of the peers.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from harness import GOLDEN, Outcome, Report, execute

DRIVER = GOLDEN.parent.parent / "benchmark" / "gpu"
OURS, MISSING = "transformer-mlir", "gpu.no-such-peer"
SHAPE = {"batch": 2, "heads": 2, "head_dim": 8, "length": 9, "causal": True}
RUN = {
    "products": {"sizes": [[70, 48, 64]], "dtype": "float32", "options": [], "peers": [MISSING]},
    "attention": {"shapes": [SHAPE, SHAPE | {"causal": False}], "dtype": "float32", "options": [], "peers": [MISSING]},
    "forward": [{"model": str(GOLDEN / "bert-long"), "batch": 2, "length": 7, "options": [], "peers": [MISSING]}],
    "generate": [{"model": str(GOLDEN / "gpt2-lm"), "prompt": 5, "new_tokens": 3, "weights": ["f32"], "peers": [MISSING]}],
    "train": [{"model": str(GOLDEN / "gpt2-lm"), "train": {"tiny": {"batch": 2, "length": 6}}, "peers": [MISSING]}],
}  # fmt: skip
WANTED = {  # operations that a row counts, where they are known beforehand
    "product, 70 x 48 x 64": 2 * 70 * 48 * 64,
    "attention, 2 x 9, 2 heads of 8, causal": 4 * 2 * 2 * 9 * 9 * 8 / 2,
    "attention, 2 x 9, 2 heads of 8": 4 * 2 * 2 * 9 * 9 * 8,
    "bert-long, 2 x 7": None,
    "gpt2-lm, prompt of 5": None,
    "gpt2-lm, a token behind it, of 3": None,
    "training gpt2-lm, tiny": None,
}


def call(compiler: Path, folder: Path, *options: object, **environment: str) -> Outcome:
    given = ["--compiler", compiler, "--cache", folder / "cache", "--output", folder / "results", "--arch", "sm_80"]
    return execute([sys.executable, DRIVER, *given, *options], env={**os.environ, **environment})


def check(compiler: Path, folder: Path, report: Report) -> None:
    (folder / "tiny.json").write_text(json.dumps(RUN))
    done = call(compiler, folder, "--run", folder / "tiny.json", "--rounds", 1, "--repeat", 2)
    if done.code != 0:
        return report.add("benchmark/gpu", f"exit code {done.code}: {done.stderr.strip()[-400:]}")
    results = json.loads((folder / "results" / "results.json").read_text())
    text = (folder / "results" / "results.md").read_text()
    rows = {f"{row['part']}, {row['shape']}": row for row in results["rows"]}
    report.add("benchmark/gpu: rows", None if list(rows) == list(WANTED) else f"{list(rows)}, expected {list(WANTED)}")
    for name, flops in WANTED.items():
        row = rows.get(name, {"ms": {}, "gaps": {}})
        good = row["ms"].get(OURS, 0) > 0 and row["tflops"] > 0 and flops in (None, row["flops"])
        report.add(f"benchmark/gpu: {name}", None if good else f"{row}")
        gap = row["gaps"].get(MISSING, "")
        report.add(f"benchmark/gpu: {name}, gap", None if "ModuleNotFoundError" in gap else f"{row['gaps']}")
        report.add(f"benchmark/gpu: {name}, Markdown", None if f"| {name} |" in text else f"no {name} in {text}")
    none = call(compiler, folder, LD_LIBRARY_PATH="/nowhere")
    if "libcuda" in none.stderr:  # where there is no driver besides
        report.add("benchmark/gpu: no driver", None if none.code == 1 else f"exit code {none.code}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    compiler = parser.parse_args().compile.resolve()
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        check(compiler, Path(folder), report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
