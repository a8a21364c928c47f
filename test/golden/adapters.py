#!/usr/bin/env python3
"""Low-rank adapters beside PEFT's: what a model with them computes, and steps in which they alone are trained.

Logits with adapters, compiled from their folder, are at most twice as far from float64 as PyTorch's in float32.
The losses, the norms and the adapters of 25 steps of AdamW are as near to PEFT's as `train.py` asks, the saved folder
has PEFT's names, and new adapters change nothing before they are trained.

What PEFT gives is recorded (`adapters.safetensors`: the adapters that all start from, logits, curves, gaps); with
--live the installed one is asked, which also loads the folder that was saved; with --record its answers are written.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from compare import FACTOR, max_error, output_mask
from gradients import HERE, Arrays, run_cases
from safetensors.numpy import load_file, save_file
from train import Optimizer, Runs, compare_curve, compare_weights, config_of, curves_of, data_of

TARGETS = {
    "gpt2-lm": ["c_attn", "mlp.c_fc"],
    "llama-lm": ["q_proj", "v_proj", "down_proj"],
    "bert-masked-lm": ["query", "value", "intermediate.dense"],
    "bart-lm": ["q_proj", "v_proj", "fc1"],
}
NEW = "gpt2-lm"  # new adapters are looked at here
STEPS, DECAY = 25, 0.01
ADAMW = Optimizer("AdamW", 2e-3, {}, ())
WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"


@dataclass(frozen=True)
class Adapters:
    targets: list[str]  # ends of modules' names
    rank: int = 3
    alpha: int = 5


def start_of(shapes: dict[str, list[int]]) -> Arrays:
    random = np.random.default_rng(3)
    return {name: random.normal(0, 0.2, shape).astype(np.float32) for name, shape in sorted(shapes.items())}


def adapted(base: "torch.nn.Module", adapters: Adapters, start: Arrays | None) -> "torch.nn.Module":
    """The model with PEFT's adapters, or those that are given, in its type."""
    import peft
    import torch

    config = peft.LoraConfig(r=adapters.rank, lora_alpha=adapters.alpha, target_modules=adapters.targets)
    model = peft.get_peft_model(base, config, autocast_adapter_dtype=False).eval()
    if start is not None:
        dtype = next(model.parameters()).dtype
        tensors = {name: torch.from_numpy(value).to(dtype) for name, value in start.items()}
        result = peft.set_peft_model_state_dict(model, tensors)
        if result.unexpected_keys:
            raise RuntimeError(f"PEFT does not know {result.unexpected_keys[:3]}")
    return model


def start_for(base: "torch.nn.Module", adapters: Adapters) -> Arrays:
    import peft

    saved = peft.get_peft_model_state_dict(adapted(base, adapters, None))
    return start_of({name: list(value.shape) for name, value in saved.items()})


def logits_of(model: "torch.nn.Module", inputs: Arrays) -> np.ndarray:
    import torch
    from reference import run_model

    with torch.no_grad():
        return run_model(model.base_model.model, inputs)["logits"]


def ask(case: Path, adapters: Adapters, inputs: Arrays, data: Arrays, labels: Arrays) -> Arrays:
    import torch
    from reference import load_model

    start = start_for(load_model(case, torch.float32), adapters)
    models = [adapted(load_model(case, dtype), adapters, start) for dtype in (torch.float64, torch.float32)]
    exact, single = (logits_of(model, inputs) for model in models)
    mask = output_mask(json.loads((case / "config.json").read_text()), inputs)
    found = {f"start.{name}": value for name, value in start.items()}
    found |= {"logits": exact, "logits.gap": np.array(max_error("logits", single, exact, mask))}
    exact, single = (curves_of(model, config_of(case), data, labels, ADAMW, DECAY) for model in models)
    for name, (a, b) in {"loss": (exact[0], single[0]), "grad_norm": (exact[1], single[1])}.items():
        found |= {name: a, f"{name}.gap": np.abs(a - b)}
    for name, weight in exact[2].items():
        gap = np.abs(weight - single[2][name]).max()
        name = name_in_file(name)
        found |= {f"weights.{name}": weight.astype(np.float32), f"gaps.{name}": np.array(gap)}
    return found


def name_in_file(parameter: str) -> str:
    return parameter.replace(".default.", ".")


def write_adapter(folder: Path, case: Path, adapters: Adapters, weights: Arrays) -> None:
    folder.mkdir()
    save_file(weights, folder / WEIGHTS)
    config = {"peft_type": "LORA", "base_model_name_or_path": str(case), "r": adapters.rank, "lora_alpha": adapters.alpha}
    (folder / CONFIG).write_text(json.dumps(config | {"target_modules": adapters.targets, "bias": "none"}))


def check_logits(runs: Runs, adapter: Path, inputs: Arrays, expected: Arrays) -> float:
    """The share of the allowed error of a program that was compiled from adapters."""
    program, out = runs.folder / "forward", runs.folder / "outputs.safetensors"
    given = runs.folder / "inputs.safetensors"
    save_file(inputs, given)
    runs.execute(runs.compiler, adapter, "-o", program)
    runs.execute(program, "run", "-w", adapter, "--inputs", given, "--outputs", out)
    mask = output_mask(json.loads((runs.case / "config.json").read_text()), inputs)
    error = max_error("logits", load_file(out)["logits"], expected["logits"], mask)
    share = error / (FACTOR * float(expected["logits.gap"]))
    if not share <= 1:
        raise RuntimeError(f"logits: {share:.2f} times the allowed error")
    return share


def check_new(runs: Runs, adapters: Adapters) -> None:
    """New adapters: A as PEFT makes it, B zeros, so that the model is as it was."""
    targets = ",".join(adapters.targets)
    program, out = runs.folder / "new", runs.folder / "new-adapter"
    runs.execute(runs.compiler, runs.case, "-o", program, "--mode", "train", "--lora", adapters.rank, "--lora-targets", targets)
    data = ("--data", runs.folder / "data.safetensors", "--steps", 1, "--learning-rate", 0)
    runs.execute(program, "train", "-w", runs.case, *data, "--save", out)
    for name, value in load_file(out / WEIGHTS).items():
        bound = 1 / np.sqrt(value.shape[1])
        if "lora_B" in name and value.any():
            raise RuntimeError(f"{name}: expected zeros")
        if "lora_A" in name and not 0.8 * bound < np.abs(value).max() <= bound:
            raise RuntimeError(f"{name}: largest number {np.abs(value).max()}, expected just below {bound}")
    outputs = []
    for source, name in ((runs.case, "base"), (out, "merged")):
        program, answer = runs.folder / name, runs.folder / f"{name}.safetensors"
        runs.execute(runs.compiler, source, "-o", program)
        runs.execute(program, "run", "-w", source, "--inputs", runs.folder / "inputs.safetensors", "--outputs", answer)
        outputs.append(load_file(answer)["logits"])
    if not np.array_equal(*outputs):
        raise RuntimeError("adapters of zeros change the logits")


def check(compiler: Path, case: Path, live: bool, record: bool) -> str:
    """How near it is; raises what is wrong."""
    inputs, adapters = load_file(case / "inputs.safetensors"), Adapters(TARGETS[case.name])
    data, labels = ({name: value[:STEPS] for name, value in given.items()} for given in data_of(case))
    expected = ask(case, adapters, inputs, data, labels) if live or record else load_file(case / "adapters.safetensors")
    if record:
        save_file(expected, case / "adapters.safetensors")
    with tempfile.TemporaryDirectory() as scratch:
        runs = Runs(compiler, case, "adamw", Path(scratch))
        adapter, trained = runs.folder / "adapter", runs.folder / "trained"
        write_adapter(adapter, case, adapters, {k.removeprefix("start."): v for k, v in expected.items() if k.startswith("start.")})
        save_file(data | labels, runs.folder / "data.safetensors")
        shares = [check_logits(runs, adapter, inputs, expected)]
        program, log = runs.folder / "program", runs.folder / "log.jsonl"
        runs.execute(compiler, adapter, "-o", program, "--mode", "train", "--dropout", 0)
        options = ("--learning-rate", ADAMW.rate, "--weight-decay", DECAY, "--log", log, "--save", trained)
        runs.execute(program, "train", "-w", adapter, "--data", runs.folder / "data.safetensors", *options)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        for what in ("loss", "grad_norm"):
            found = np.array([line[what] for line in lines])
            shares.append(compare_curve(found, expected[what], expected[f"{what}.gap"], what))
        weights, given = load_file(trained / WEIGHTS), load_file(adapter / WEIGHTS)
        if set(weights) != set(given):
            raise RuntimeError(f"saved are {sorted(weights)[:3]}, PEFT's names are others")
        shares.append(compare_weights(weights, expected, given, ADAMW.rate, DECAY))
        if live:
            import peft
            from reference import load_model
            import torch

            peft.PeftModel.from_pretrained(load_model(case, torch.float32), trained)
        if case.name == NEW:
            check_new(runs, adapters)
    names = ("logits", "loss", "norm", "adapters")
    return "of the allowed differences: " + ", ".join(f"{name} {share:.2f}" for name, share in zip(names, shares))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("--live", action="store_true", help="ask the installed PEFT")
    parser.add_argument("--record", action="store_true", help="ask it and write its answers")
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(TARGETS)} (default: those recorded)")
    options = parser.parse_args()
    compiler = options.compile.resolve()
    cases = options.cases or [path.parent.name for path in sorted(HERE.glob("*/adapters.safetensors"))]
    return run_cases("adapters", cases, lambda case: check(compiler, case, options.live, options.record))


if __name__ == "__main__":
    sys.exit(main())
