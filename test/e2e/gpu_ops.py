#!/usr/bin/env python3
"""Every op of the dialect lowers to a GPU: each occurs in a program that --target cuda makes PTX of, models for
inference, training and with narrow weights, and the losses of test/gradients. An op in none of them fails by its name."""

import argparse
import os
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from harness import COMPILE_SECONDS, GOLDEN, Report, compile_program, execute

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gradients"))
from op_cases import CASES, SHORT, case_of  # noqa: E402

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TRAINED = ("--mode", "train", "--dropout", "0.1")
PROGRAMS = {
    "bert-masked-lm": [(), (*TRAINED, "--optimizer", "adafactor")],
    "bert-question-answering": [(), (*TRAINED, "--accumulate")],
    "albert-pretraining": [TRAINED],
    "electra-pretraining": [(*TRAINED, "--accumulate")],
    "vit-pooler": [()],
    "vit-grey": [TRAINED],
    "roberta-sequence-classification": [()],
    "distilbert-sequence-classification": [TRAINED],
    "deberta-conv": [(), (*TRAINED, "--recompute", "layer")],
    "deberta-masked-lm": [TRAINED],
    "gpt2-lm": [(), (*TRAINED, "--optimizer", "sgd"), ("--weights-dtype", "bf16")],
    "llama-lm": [(*TRAINED, "--recompute", "attention"), ("--weights-dtype", "int4", "--activations-dtype", "int8")],
    "gptj-lm": [TRAINED],
    "bloom-lm": [(), TRAINED, ("--weights-dtype", "int8")],
    "t5-lm": [(), TRAINED],
    "whisper-lm": [(), TRAINED],
    "annotated-unbiased": [(), TRAINED],
    "transformer-learned": [()],
    "encoder.mlir": [()],  # an example
    "encoder_decoder.mlir": [()],
}


def ops_of(text: str) -> set[str]:
    return set(re.findall(r"\btransformer\.\w+", text))


def check_model(compiler: Path, scratch: Path, program: tuple[int, str, tuple[str, ...]]) -> tuple[str | None, set[str]]:
    """Why it does not compile, and what it has."""
    number, case, options = program
    written, ops = scratch / f"{number}.ptx", set()
    source = (EXAMPLES if case.endswith(".mlir") else GOLDEN) / case
    try:
        compile_program(compiler, source, written, "--target", "cuda", "--arch", "sm_90a", "--emit", "ptx", *options)
    except RuntimeError as error:
        return str(error), set()
    for emit in ("dialect", "fused"):
        done = execute([compiler, source, "--target", "cuda", "--emit", emit, "-o", written, *options], COMPILE_SECONDS)
        if done.code != 0:
            return done.complaint(), set()
        ops |= ops_of(written.read_text())
    return None, ops


def check_loss(compiler: Path, scratch: Path, write) -> tuple[str | None, set[str]]:
    """A loss alone: its backward test/gradients checks as threads."""
    text = case_of(write, SHORT).loss().text
    source = scratch / f"{write.__name__}.mlir"
    source.write_text(text)
    done = execute([compiler, source, "--target", "cuda", "--emit", "ptx", "-o", source.with_suffix(".ptx")], COMPILE_SECONDS)
    return (done.complaint() if done.code != 0 else None), ops_of(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, required=True, help="the folder of transformer-compile and transformer-check-targets")
    tools, report, seen = parser.parse_args().tools.resolve(), Report(), set()
    compiler = tools / "transformer-compile"
    programs = [(case, options) for case, each in PROGRAMS.items() for options in each]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:
        numbered = [(i, *program) for i, program in enumerate(programs)]
        models = zip((f"{case} {' '.join(options)}".strip() for case, options in programs),
                     pool.map(partial(check_model, compiler, Path(scratch)), numbered))
        losses = zip((f"loss of {write.__name__}" for write in CASES), pool.map(partial(check_loss, compiler, Path(scratch)), CASES))
        for name, (reason, ops) in [*models, *losses]:
            report.add(f"PTX/{name}", reason)
            seen |= ops
    registered = execute([tools / "transformer-check-targets", "--ops"]).stdout.split()
    missing = sorted(set(registered) - seen)
    report.add("PTX/every op", f"in no program: {', '.join(missing)}" if missing or not registered else None)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
