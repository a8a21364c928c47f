#!/usr/bin/env python3
"""Compares what a program produced for a golden case with the stored float64 expectation.

Passes when at every unmasked position the error is at most twice that of PyTorch in float32 (its
largest over the input sets of the case: one set has few pooled values, and luck with them), and
when the padding positions of outputs with a position per token are exactly zero. Prints one line.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

FACTOR = 2.0


def expected_name(inputs_name: str) -> str:
    """inputs -> expected, inputs_left -> expected_left."""
    return "expected" + inputs_name.removeprefix("inputs")


def image_tokens(config: dict) -> int:
    """The class token and a token for each patch."""
    image, patch = (np.broadcast_to(config[name], 2) for name in ("image_size", "patch_size"))
    return 1 + int(np.prod(image // patch))


def output_mask(config: dict, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """[batch, sequence] of the outputs with a position per token: true where it counts."""
    family = config.get("model_type")
    if "pixel_values" in inputs:
        given = inputs.get("attention_mask")
        rows = len(inputs["pixel_values"])
        return np.ones((rows, image_tokens(config)), dtype=bool) if given is None else given != 0
    prefix = "decoder_" if "decoder_input_ids" in inputs else ""
    ids, mask = inputs[prefix + "input_ids"], inputs.get(prefix + "attention_mask")
    if mask is not None:
        return mask != 0
    if family == "annotated_transformer":
        return ids != config["trg_pad_idx"]
    if family == "bert_pytorch":
        return ids > 0
    return np.ones(ids.shape, dtype=bool)


def is_pooled(name: str, output: np.ndarray, mask: np.ndarray) -> bool:
    """Whether an output has one vector a row, made from column 0, rather than one or a number a token."""
    return output.ndim == 2 and output.shape != mask.shape


def compared(name: str, output: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The part of an output that counts: unmasked tokens, or rows whose column 0 is unmasked."""
    return output[mask[:, 0]] if is_pooled(name, output, mask) else output[mask]


def max_error(name: str, found: np.ndarray, expected: np.ndarray, mask: np.ndarray) -> float:
    error = np.abs(found.astype(np.float64) - expected)
    return float(compared(name, error, mask).max(initial=0.0))


def problem(name: str, found: np.ndarray | None, expected: np.ndarray, mask: np.ndarray, bound: float) -> str | None:
    """What is wrong with an output, or None."""
    if found is None:
        return f"{name} is missing"
    if found.shape != expected.shape:
        return f"{name} has shape {list(found.shape)}, expected {list(expected.shape)}"
    if not np.isfinite(found).all():
        return f"{name} holds {np.count_nonzero(~np.isfinite(found))} values that are not finite"
    error = max_error(name, found, expected, mask)
    if error > bound:
        return f"{name} max abs error {error:.3g} > {bound:.3g}"
    if not is_pooled(name, found, mask) and np.any(found[~mask]):
        return f"{name} is not zero at padding positions (max abs {np.abs(found[~mask]).max():.3g})"
    return None


def compare(
    config: dict,
    inputs: dict[str, np.ndarray],
    found: dict[str, np.ndarray],
    expected: dict[str, np.ndarray],
    float32_errors: dict[str, float],
) -> tuple[bool, str]:
    """Whether all outputs are right, and a line that says how right or what is wrong."""
    mask = output_mask(config, inputs)
    lines = []
    for name, value in expected.items():
        bound = FACTOR * float32_errors[name]
        wrong = problem(name, found.get(name), value, mask, bound)
        if wrong:
            return False, wrong
        lines.append(f"{name} {max_error(name, found[name], value, mask):.3g} <= {bound:.3g}")
    return True, ", ".join(lines)


def case_bounds(sets: dict[str, dict[str, float]]) -> dict[str, float]:
    """PyTorch's float32 error of every output: its largest over all input sets of the case."""
    bounds: dict[str, float] = {}
    for outputs in sets.values():
        for name, error in outputs.items():
            bounds[name] = max(error, bounds.get(name, 0.0))
    return bounds


def compare_files(case: Path, output: Path, inputs_name: str = "inputs") -> tuple[bool, str]:
    config = json.loads((case / "config.json").read_text())
    inputs = load_file(case / f"{inputs_name}.safetensors")
    expected = load_file(case / f"{expected_name(inputs_name)}.safetensors")
    bounds = case_bounds(json.loads((case / "bounds.json").read_text()))
    try:
        found = load_file(output)
    except (OSError, SafetensorError) as error:
        return False, f"cannot read {output}: {error}"
    return compare(config, inputs, found, expected, bounds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", type=Path, help="directory of the case")
    parser.add_argument("output", type=Path, help="safetensors file that the program wrote")
    parser.add_argument("--inputs-name", default="inputs", help="which input set it was given (default: inputs)")
    arguments = parser.parse_args()
    good, line = compare_files(arguments.case, arguments.output, arguments.inputs_name)
    print(f"{'PASS' if good else 'FAIL'}: golden/{arguments.case.resolve().name} {arguments.inputs_name}: {line}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
