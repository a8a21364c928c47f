#!/usr/bin/env python3
"""benchmark/run with a tiny model and our program alone: what it measures, writes and refuses.

Needs numpy, safetensors and a C++ compiler, none of the peers.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import GOLDEN, Outcome, Report, execute

BENCHMARK = GOLDEN.parent.parent / "benchmark"
DRIVER = BENCHMARK / "run"
sys.path.append(str(BENCHMARK / "harness"))
from isa import ISAS, system_compiler  # noqa: E402
from shapes import make_batch  # noqa: E402

OURS, MISSING = "transformer-mlir", "no-such-peer"
MODEL = {"model": str(GOLDEN / "bert-long"), "peers": [MISSING]}
SHAPES = {"2x7": {"batch": 2, "length": 7}, "ragged": {"lengths": [3, 1, 9]}}
TABLE = {"shapes": SHAPES, "measure": [{"threads": 1, "shapes": ["2x7", "ragged"]}]}
START = {"start": {"2x7": SHAPES["2x7"]}, "threads": [1]}
LINEAR = {"op": "linear", "part": "tiny", "K": 64, "N": 32}
OPS = {"threads": [1], "seconds": 0.01, "tokens": [96], "shapes": {}, "ops": [LINEAR]}


# XCR0: what the operating system keeps of the registers of a program.
XCR0 = """
unsigned xcr0(void) {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}
"""
AVX_STATE, AVX512_STATE = 0x6, 0xE0


class Driver:
    def __init__(self, compiler: Path, folder: Path):
        self.options = ["--compiler", compiler, "--cache", folder / "cache", "--output", folder / "results"]
        self.folder = folder

    def call(self, *options: object) -> Outcome:
        return execute([sys.executable, DRIVER, *self.options, *options])

    def results(self, run: dict, *options: object) -> tuple[dict, str]:
        """results.json and results.md of a run, one short round of it."""
        file = self.folder / "tiny.json"
        file.write_text(json.dumps(run))
        done = self.call("--busy", "--runs", file, "--rounds", 1, "--repeat", 1, *options)
        if done.code != 0:
            raise RuntimeError(f"exit code {done.code}: {done.stderr.strip()[-300:]}")
        written = self.folder / "results"
        return json.loads((written / "results.json").read_text()), (written / "results.md").read_text()


def expect(holds: bool, text: str) -> str | None:
    return None if holds else text


def check_table(driver: Driver, report: Report, wanted: dict[str, int], *options: str, bits: int | None = None) -> None:
    """`wanted`: the tokens of each shape; `bits`: of the vectors that the machine's peak is measured with."""
    name = " ".join(["benchmark/table", *options])
    results, text = driver.results(MODEL | TABLE, *options)
    rows = {row["shape"]: row for row in results["rows"]}
    tokens = {shape: row["tokens"] for shape, row in rows.items()}
    report.add(f"{name}: tokens", expect(tokens == wanted, f"{tokens}, expected {wanted}"))
    for shape, row in rows.items():
        times = row["median_ms"]
        measured = list(times) == [OURS] and 0 < row["limit_ms"] < times[OURS]
        report.add(f"{name}: {shape}", expect(measured, f"{times}, limit {row['limit_ms']}"))
        gap = row["gaps"].get(MISSING, "")
        report.add(f"{name}: {shape}, gap", expect("ModuleNotFoundError" in gap, f"{row['gaps']}"))
        line = f"| {shape} ({wanted[shape]}) |"
        report.add(f"{name}: {shape}, Markdown", expect(line in text, f"no {line} in {text}"))
    found = [limit["vector_bits"] for limit in results["machine"]["limits"]]
    if bits:
        report.add(f"{name}: vector bits", expect(found == [bits], f"{found}, expected {bits}"))


def check_start(driver: Driver, report: Report) -> None:
    results, text = driver.results(MODEL | START)
    (start,) = results["starts"]
    (row,) = start["rows"]
    good = start["program_bytes"] > 0 and row["ms"][OURS] > 0 and row["mib"][OURS] > 1
    report.add("benchmark/start", expect(good, f"{start}"))
    report.add("benchmark/start: gap", expect(MISSING in row["gaps"], f"{row['gaps']}"))
    report.add("benchmark/start: Markdown", expect("Start of bert-long" in text, text))


def check_ops(driver: Driver, report: Report) -> None:
    (row,) = driver.results(OPS)[0]["ops"]
    # So small an op may be lost in the noise of one round; the driver then says so.
    good = row["shape"] == "96x64x32" and (row.get("gap") or row["flops"] == 2 * 96 * 64 * 32)
    report.add("benchmark/ops", expect(good, f"{row}"))


def check_generation(driver: Driver, report: Report) -> None:
    run = {"model": str(GOLDEN / "gpt2-lm"), "generate": {"prompt": 5, "new_tokens": 3}}
    results, text = driver.results(run | {"weights": ["f32", "int4"], "threads": [1], "peers": [MISSING]})
    (generation,) = results["generations"]
    rows = {row["shape"]: row for row in generation["rows"]}
    good = list(rows) == ["prompt of 5", "a token behind it, of 3"]
    good &= all(list(row["ms"]) == [OURS, f"{OURS}, int4"] and min(row["ms"].values()) > 0 for row in rows.values())
    report.add("benchmark/generate", expect(good, f"{generation}"))
    report.add("benchmark/generate: gap", expect(all(MISSING in row["gaps"] for row in rows.values()), f"{rows}"))
    report.add("benchmark/generate: Markdown", expect("Text of gpt2-lm" in text, text))


def check_translation(driver: Driver, report: Report) -> None:
    batches = {"1 row": {"rows": 1, "beams": 1}, "3 rows, 2 beams": {"rows": 3, "beams": 2}}
    run = {"model": str(GOLDEN / "marian-lm"), "translate": {"source": 5, "new_tokens": 3, "batches": batches}}
    results, text = driver.results(run | {"threads": [1], "peers": [MISSING]})
    rows = {row["shape"]: row for row in results["generations"][0]["rows"]}
    good = list(rows) == [f"{name}, 5 tokens to 3" for name in batches]
    good &= all(list(row["ms"]) == [OURS] and row["ms"][OURS] > 0 and MISSING in row["gaps"] for row in rows.values())
    report.add("benchmark/translate", expect(good, f"{results['generations']}"))
    report.add("benchmark/translate: Markdown", expect("Text of marian-lm" in text, text))


def check_training(driver: Driver, report: Report) -> None:
    wanted = {  # the batch of each model, and its tokens
        "gpt2-lm": ({"batch": 4, "length": 12}, 48),
        "bart-lm": ({"batch": 3, "length": 7, "target": 5}, 36),
        "bert-masked-lm": ({"lengths": [3, 14, 9, 1]}, 27),
    }
    for model, (shape, tokens) in wanted.items():
        name = f"benchmark/train {model}"
        run = {"model": str(GOLDEN / model), "train": {"tiny": shape}, "threads": [1], "peers": [MISSING]}
        results, text = driver.results(run)
        (row,) = results["trainings"]
        figures = [row[figure][OURS] for figure in ("median_ms", "first_ms", "mib")]
        report.add(name, expect(row["tokens"] == tokens and min(figures) > 0, f"{row}"))
        report.add(f"{name}: loss", expect(1 < row["loss"][OURS] < 20, f"{row['loss']}"))
        report.add(f"{name}: gap", expect("ModuleNotFoundError" in row["gaps"].get(MISSING, ""), f"{row['gaps']}"))
        line = f"| {model}, tiny ({tokens}) |"
        report.add(f"{name}: Markdown", expect("## Training, 1 thread" in text and line in text, f"no {line} in {text}"))


def check_batches(report: Report) -> None:
    """Labels: of every token, of masked ones alone, of targets behind the start token; none where there is padding."""
    lengths = {"lengths": [20, 40]}
    batch = make_batch(lengths, {"vocab_size": 90, "architectures": ["GPT2LMHeadModel"]})
    real = np.arange(40) < np.array([[20], [40]])
    good = (batch["labels"] == np.where(real, batch["input_ids"], -100)).all() and (batch["attention_mask"] == real).all()
    report.add("benchmark/batch of a decoder", expect(good, f"{batch}"))
    batch = make_batch(lengths, {"vocab_size": 90, "architectures": ["BertForMaskedLM"]})
    learned = batch["labels"] != -100
    good = learned.sum() == 9 and real[learned].all() and (batch["labels"][learned] >= 5).all()  # 15 % of 60
    good = good and ((batch["input_ids"] == 4) == learned).all() and (batch["input_ids"][~real] == 0).all()
    report.add("benchmark/batch of a masked language model", expect(good, f"{batch}"))
    config = {"vocab_size": 90, "is_encoder_decoder": True, "decoder_start_token_id": 2}
    batch = make_batch({"batch": 3, "length": 7, "target": 5}, config)
    good = (batch["decoder_input_ids"][:, 0] == 2).all() and batch["labels"].shape == (3, 5) and "attention_mask" not in batch
    good = good and (batch["decoder_input_ids"][:, 1:] == batch["labels"][:, :-1]).all()
    report.add("benchmark/batch of an encoder-decoder", expect(good, f"{batch}"))


def check_avx2_only(folder: Path, report: Report) -> None:
    """A library that asks for AVX-512 under avx2_only.c must hear that there is none, but AVX."""
    source, library = folder / "xcr0.c", folder / "libxcr0.so"
    source.write_text(XCR0)
    compiler = system_compiler("CC", "gcc", "clang-22")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", source, "-o", library], check=True)
    ask = f"import ctypes; print(ctypes.CDLL({str(library)!r}).xcr0())"
    environment = os.environ | ISAS["avx2"].environment(folder)
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, env=environment)
    state = int(done.stdout or 0)
    good = state & (AVX_STATE | AVX512_STATE) == AVX_STATE
    report.add("benchmark/avx2_only", expect(good, f"XCR0 is {state:#x}; {done.stderr}"))


def check_refusals(driver: Driver, report: Report) -> None:
    unknown = {"run": ["--runs", "nowhere"], "peer": ["--peers", "nobody"], "isa": ["--isa", "avx3"]}
    for name, options in unknown.items():
        done = driver.call(*options)
        report.add(f"benchmark/unknown {name}", expect(done.code != 0 and options[-1] in done.stderr, f"{done}"))
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        done = driver.call()
    finally:
        for process in spinning:
            process.kill()
            process.wait()
    report.add("benchmark/busy machine", expect(done.code == 1 and "busy" in done.stderr, f"{done}"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    arguments = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        driver = Driver(arguments.compile.resolve(), Path(folder))
        try:
            check_table(driver, report, {"2x7": 14, "ragged": 13})
            check_table(driver, report, {"ragged": 13}, "--isa", "avx2", "--shapes", "ragged", bits=256)
            check_start(driver, report)
            check_generation(driver, report)
            check_translation(driver, report)
            check_training(driver, report)
            check_batches(report)
            check_ops(driver, report)
            check_avx2_only(Path(folder), report)
            check_refusals(driver, report)
        except (RuntimeError, OSError, KeyError, ValueError) as error:
            report.add("benchmark", str(error))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
