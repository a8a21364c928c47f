#!/usr/bin/env python3
"""Compiles models of random configurations and compares them, and their gradients, with the installed transformers in
float64; of some a step of the compiled training program, too.

A program must give what transformers gives, with at most three times its error in float32 (one set of inputs tells
little), or be refused with the name of a field that was changed. What transformers itself refuses is not asked. Needs
torch, transformers and safetensors.
"""

import sys
from pathlib import Path
from threading import Lock

for folder in ("e2e", "golden"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / folder))
from random_configs import random_case  # noqa: E402

import first_step  # noqa: E402
import gradients  # noqa: E402
import make  # noqa: E402
import torch  # noqa: E402
from case import Case, same  # noqa: E402
from cases import own_head  # noqa: E402
from compare import FACTOR, compare, output_mask  # noqa: E402
from harness import TARGET, Outcome, execute  # noqa: E402
from reference import Reference  # noqa: E402
from rounding import SplitSums  # noqa: E402
from safetensors.numpy import load_file, save_file  # noqa: E402
from seeds import ENDS, check_compiled_seeds  # noqa: E402

ALLOWED = 3
STEPPED = 5  # of so many seeds one: compiling a training program takes longer than all else
TRAINED = ("LMHeadModel", "ForCausalLM", "ForMaskedLM", "ForConditionalGeneration", "MTModel", "Classification", "ForQuestionAnswering", "ForPreTraining")
PYTORCH = Lock()  # `exact` exchanges parts of transformers, for the whole process

# What else a field is told by.
WORDS = {
    "rope_parameters": ["rope_scaling", "_factor", "rotary", "pct"], "max_position_embeddings": ["position limit"],
    "n_positions": ["position limit"], "position_biased_input": ["position_ids"]}


def typical_errors(reference: Reference, inputs: dict, outputs: dict, errors: dict[str, float]) -> dict[str, float]:
    """PyTorch's largest errors with sums in several orders."""
    mask = output_mask(reference.config, inputs)
    for chunk in (3, 4, 7):
        with SplitSums(chunk):
            others = reference.errors(inputs, outputs, mask)
        errors = {name: max(error, others[name]) for name, error in errors.items()}
    return errors


def expect(case: Case, folder: Path) -> tuple[dict, dict, dict] | None:
    """Writes checkpoint, inputs and gradients; the configuration, what is expected, and PyTorch's error; None if
    transformers refuses."""
    try:
        reference = Reference(folder, make.write_checkpoint(case, folder))
        inputs = make.make_inputs(case, case.inputs[0], reference.config, 0)
        expected, errors = reference.expected(inputs)
        errors = typical_errors(reference, inputs, expected, errors)
        save_file(inputs, folder / "inputs.safetensors")
        if has_gradients(case):
            given = gradients.given_to(folder)
            save_file(given[0] | given[1], folder / "given.safetensors")
            save_file(gradients.ask(folder, *given), folder / "gradients.safetensors")
    except Exception:  # whatever transformers and PyTorch raise for a configuration that they cannot have
        return None
    return reference.config, expected, errors


def has_gradients(case: Case) -> bool:
    """Whether its loss is transformers': a label behind padding counts there, and a tied head that has weights of its
    own in the file is one tensor or two."""
    padded = case.inputs[0] in ("inputs_left", "inputs_holes") or (case.inputs[0] == "inputs_bare" and case.model.endswith("ForQuestionAnswering"))
    return case.model.endswith(TRAINED) and not padded and case.rewrite is not own_head


def refusal(done: Outcome, fields: list[str], by: str) -> None:
    """Of a configuration that cannot be had: must name a field."""
    if done.code != 1 or not any(word in done.stderr for name in fields for word in [name, *WORDS.get(name, [])]):
        raise RuntimeError(done.complaint())
    ENDS[f"refused by the {by}: {done.complaint().split('config.json: ')[-1]}"] += 1


def check_case(compiler: Path, case: Case, fields: list[str], folder: Path, steps: bool) -> None:
    with PYTORCH:
        found = expect(case, folder)
    if not found:
        ENDS["refused by transformers"] += 1
        return None
    config, expected, errors = found
    program, outputs, inputs = (folder / name for name in ("program", "outputs.safetensors", "inputs.safetensors"))
    done = execute([compiler, folder, "-o", program, *TARGET])
    if done.code != 0:
        return refusal(done, fields, "compiler")
    done = execute([program, "run", "--weights", folder, "--inputs", inputs, "--outputs", outputs])
    if done.code != 0:
        return refusal(done, fields, "program")
    bounds = {name: error * ALLOWED / FACTOR for name, error in errors.items()}
    good, line = compare(config, load_file(inputs), load_file(outputs), expected, bounds)
    if not good:
        raise RuntimeError(line)
    ENDS["outputs as transformers'"] += 1
    if not has_gradients(case):
        return None
    tool = compiler.with_name("transformer-model-gradients")
    done = execute([tool, folder, "--inputs", folder / "given.safetensors", "--expected", folder / "gradients.safetensors"])
    if done.code != 0:
        raise RuntimeError(f"gradients: {done.complaint()}")
    ENDS["gradients as transformers'"] += 1
    if steps and case.rewrite is same and case.dtype == torch.float32:
        first_step.check(compiler, folder, first_step.FLOAT32)
        ENDS["a step as transformers'"] += 1


def check(compiler: Path, folder: Path, seed: int) -> str | None:
    case, fields = random_case(seed)
    try:
        check_case(compiler, case, fields, folder, seed % STEPPED == 0)
    except RuntimeError as error:
        changed = ", ".join(f"{name}={case.config[name]!r}" for name in fields)
        return f"{case.model}, {changed}: {error}"
    return None


def main() -> int:
    torch.set_num_threads(1)
    return check_compiled_seeds("configurations", "configurations", __doc__, check)


if __name__ == "__main__":
    sys.exit(main())
