#!/usr/bin/env python3
"""The same sum in the same order, always: a row's outputs do not depend on what runs beside it.

Runs each of eight rows alone, in a batch of eight, with 0 and 100 columns of padding, with 1 and 2
threads, and wants the outputs of its unmasked tokens bit for bit the same. So do runs that make,
and then use, a file of packed weights. With --shapes: likewise
each row of the benchmark's shapes, at last all of them in one batch; without a --case on a BERT of
two layers with BERT-base's widths and random weights.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import GOLDEN, TARGET, Report, compile_program, execute
from safetensors.numpy import load_file, save_file
from table_shapes import make_checkpoint, table_shapes

# Lengths on both sides of tile sizes; cut to what the model takes.
LENGTHS = (1, 2, 7, 16, 17, 33, 48, 65)
PADDING = 100
CASES = ("bert-long", "gpt2-long", "transformer-sinusoidal", "annotated-unbiased", "bert-pytorch", "deberta-question-answering")

Arrays = dict[str, np.ndarray]


class Model:
    """What the test must know of a configuration: inputs, vocabularies, limits."""

    def __init__(self, config: dict):
        self.family = config["model_type"]
        self.is_pair = self.family in ("transformer", "annotated_transformer")
        limits = [config[name] for name in ("max_position_embeddings", "n_positions", "max_len") if name in config]
        self.limit = min(limits, default=512) - (2 if self.family == "roberta" else 0)
        source = config.get("enc_voc_size", config.get("vocab_size"))
        target = config.get("dec_voc_size", config.get("tgt_vocab_size", source))
        self.vocabs = {"": source, "decoder_": target} if self.is_pair else {"": source}
        self.segments = 3 if self.family == "bert_pytorch" else config.get("type_vocab_size", 2)
        self.has_segments = self.family in ("bert", "bert_pytorch")

    def row(self, random: np.random.Generator, length: int) -> Arrays:
        """One row of random inputs, [1, length] each, all unmasked; ids from 4 on are no special tokens."""
        arrays = {}
        for prefix, vocab in self.vocabs.items():
            arrays[prefix + "input_ids"] = random.integers(4, vocab, (1, length))
            arrays[prefix + "attention_mask"] = np.ones((1, length), np.int64)
        if self.has_segments:
            arrays["token_type_ids"] = random.integers(0, self.segments, (1, length))
        return arrays


def padded(row: Arrays, columns: int) -> Arrays:
    """The row on the left of `columns` columns; masks are zero and ids zero beyond it."""
    return {name: np.pad(value, ((0, 0), (0, columns - value.shape[1]))) for name, value in row.items()}


def batched(rows: list[Arrays], columns: int) -> Arrays:
    wide = [padded(row, columns) for row in rows]
    return {name: np.concatenate([row[name] for row in wide]) for name in rows[0]}


class Program:
    def __init__(self, path: Path, weights: Path, scratch: Path):
        self.path, self.weights, self.scratch = path, weights, scratch

    def run(self, inputs: Arrays, threads: int, packed: Path | None = None) -> Arrays:
        source, result = self.scratch / "in.safetensors", self.scratch / "out.safetensors"
        result.unlink(missing_ok=True)
        save_file({name: np.ascontiguousarray(value, dtype=np.int64) for name, value in inputs.items()}, source)
        files = ["--weights", self.weights, "--inputs", source, "--outputs", result]
        made = packed is not None and not packed.exists()
        options = ["--packed-weights", packed] if packed else []
        done = execute([self.path, "run", *files, "--threads", threads, *options])
        if done.code != 0:
            raise RuntimeError(f"exit code {done.code}: {done.complaint()}")
        if ("packed weights written" in done.stderr) != made:
            raise RuntimeError(f"packed weights: stderr is {done.stderr.strip()!r}")
        return load_file(result)


def row_part(outputs: Arrays, row: int, length: int, columns: int) -> Arrays:
    """The part of a batch's outputs that belongs to the tokens of a row, or to the row."""
    parts = {}
    for name, value in outputs.items():
        by_token = value.ndim > 1 and value.shape[1] == columns and name != "pooler_output"
        parts[name] = value[row, :length] if by_token else value[row]
    return parts


def difference(found: Arrays, wanted: Arrays) -> str | None:
    if found.keys() != wanted.keys():
        return f"outputs {sorted(found)}, expected {sorted(wanted)}"
    for name, value in wanted.items():
        if found[name].shape != value.shape:
            return f"{name} has shape {found[name].shape}, expected {value.shape}"
        if found[name].tobytes() != value.tobytes():
            count = np.count_nonzero(found[name].view(np.uint32) != value.view(np.uint32))
            worst = np.abs(found[name].astype(np.float64) - value).max()
            return f"{name}: {count} of {value.size} values differ, by up to {worst:.3g}"
    return None


def first_difference(
    program: Program, rows: list[Arrays], alone: list[Arrays], columns: int, threads: int
) -> str | None:
    """Runs rows in one batch and compares each with what it gave alone."""
    outputs = program.run(batched(rows, columns), threads)
    for index, (row, wanted) in enumerate(zip(rows, alone)):
        length = row["input_ids"].shape[1]
        reason = difference(row_part(outputs, index, length, columns), wanted)
        if reason:
            return f"row of {length} tokens: {reason}"
    return None


def plural(threads: int) -> str:
    return f"{threads} thread{'s'[: threads > 1]}"


def check_model(name: str, config: dict, program: Program, report: Report) -> None:
    model, random = Model(config), np.random.default_rng(7)
    longest = max(1, model.limit - PADDING)
    if model.limit <= PADDING:
        report.add(f"invariance/{name}", f"takes {model.limit} positions, no room for {PADDING} columns of padding")
        return
    lengths = [min(length, longest) for length in LENGTHS]
    rows = [model.row(random, length) for length in lengths]
    alone = [row_part(program.run(row, 1), 0, length, length) for row, length in zip(rows, lengths)]
    for threads in (1, 2):
        for padding in (0, PADDING):
            label = f"invariance/{name}: {padding} columns of padding, {plural(threads)}"
            singles = (
                first_difference(program, [row], [wanted], length + padding, threads)
                for row, wanted, length in zip(rows, alone, lengths)
            )
            report.add(f"{label}, alone", next((reason for reason in singles if reason), None))
            columns = min(max(lengths) + padding, model.limit)
            report.add(f"{label}, batch of {len(rows)}", first_difference(program, rows, alone, columns, threads))
    if TARGET:  # packed weights are a CPU's
        return
    packed = program.scratch / f"{name}.packed"
    batch = batched(rows, max(lengths))
    wanted = program.run(batch, 2)
    for what in ("made", "used"):
        report.add(f"invariance/{name}: packed weights {what}", difference(program.run(batch, 2, packed), wanted))


def check_alone(
    program: Program, rows: list[Arrays], alone: list[Arrays], padding: int, limit: int, threads: int
) -> str | None:
    """Runs each row alone, padded as far as the model takes it."""
    for row, wanted in zip(rows, alone):
        columns = min(row["input_ids"].shape[1] + padding, limit)
        reason = first_difference(program, [row], [wanted], columns, threads)
        if reason:
            return reason
    return None


def check_shapes(name: str, config: dict, program: Program, report: Report) -> None:
    """Compares with what every row gives alone, with one thread and without padding."""
    model, random = Model(config), np.random.default_rng(11)
    all_rows: list[Arrays] = []
    all_alone: list[Arrays] = []
    for shape, lengths in table_shapes().items():
        rows = [model.row(random, length) for length in lengths]
        alone = [row_part(program.run(row, 1), 0, length, length) for row, length in zip(rows, lengths)]
        label = f"invariance/{name}, {shape}"
        for padding, threads in ((0, 2), (PADDING, 1), (PADDING, 2)):
            reason = check_alone(program, rows, alone, padding, model.limit, threads)
            report.add(f"{label}: alone, {padding} columns of padding, {plural(threads)}", reason)
        for padding in (0, PADDING):
            columns = min(max(lengths) + padding, model.limit)
            for threads in (1, 2):
                reason = first_difference(program, rows, alone, columns, threads)
                report.add(f"{label}: batch of {len(rows)}, {columns} columns, {plural(threads)}", reason)
        all_rows, all_alone = all_rows + rows, all_alone + alone
    columns = max(row["input_ids"].shape[1] for row in all_rows)
    for threads in (1, 2):
        reason = first_difference(program, all_rows, all_alone, columns, threads)
        report.add(f"invariance/{name}: all {len(all_rows)} rows in a batch, {plural(threads)}", reason)


def check(name: str, case: Path, program: Path, scratch: Path, report: Report, check_one=check_model) -> None:
    config = json.loads((case / "config.json").read_text())
    try:
        check_one(name, config, Program(program, case / "model.safetensors", scratch), report)
    except (RuntimeError, OSError, KeyError) as error:
        report.add(f"invariance/{name}", f"{error}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, help="transformer-compile; compiles the cases")
    parser.add_argument("--program", type=Path, help="a program compiled before, for the one --case")
    parser.add_argument(
        "--case", type=Path, action="append", help=f"checkpoint directory (default: golden {', '.join(CASES)})"
    )
    parser.add_argument("--shapes", action="store_true", help="the rows of the benchmark's shapes")
    parser.add_argument("--weights-dtype", default="f32", help="what programs are compiled with")
    arguments = parser.parse_args()
    cases = arguments.case or [GOLDEN / name for name in CASES]
    if bool(arguments.compile) == bool(arguments.program) or (arguments.program and len(cases) != 1):
        parser.error("give --compile, or --program with one --case")
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        if arguments.shapes and not arguments.case:
            try:
                cases = [make_checkpoint(arguments.compile.resolve(), scratch / "bert-wide-random")]
            except RuntimeError as error:
                report.add("invariance/bert-wide-random", str(error))
                cases = []
        for case in cases:
            program = arguments.program or scratch / "program"
            try:
                if arguments.compile:
                    compile_program(
                        arguments.compile.resolve(), case, program, "--weights-dtype", arguments.weights_dtype
                    )
            except RuntimeError as error:
                report.add(f"invariance/{case.name}", str(error))
                continue
            check_one = check_shapes if arguments.shapes else check_model
            check(case.resolve().name, case, program.resolve(), scratch, report, check_one)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
