#!/usr/bin/env python3
"""How parameters are initialised, beside transformers and PyTorch.

Of each golden case's configuration, with deviations other than its own, many models are made from nothing; what their
parameters have in common (bounds, mean, deviation, rows of zeros) must be what the imported model's `init` says. What
transformers gives is recorded (`initializers.npz`); with --live the installed one is asked, with --record its answers
are written.
"""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from gradients import run_cases  # noqa: E402
from recorded import Answers, add_options  # noqa: E402

SEEDS = 40
# Fields that say how wide a distribution is, and values that are nobody's default.
FIELDS = {"initializer_range": 0.05, "init_std": 0.03, "initializer_factor": 0.7}
DEVIATIONS = 5.0  # of what a mean or a deviation of so many numbers may be off by
FROM_AN_OLD_FILE = "t5-own-head"  # the file has a head of its own where today's config ties it
ENOUGH = 500  # numbers, of which one in any case lies beyond 2.2 deviations (but for one time in a million)
NUMBERS = ("mean", "deviation", "least", "largest")
PARAMETER = re.compile(r'transformer\.parameter (?:frozen )?@("[^"]*"|\S+) : tensor<(\S+)xf32>(.*)')
INIT = re.compile(r"init\(<(\w+)(?:, ([-+.e\d]+) : f64)?(?:, zero_row = (\d+))?>\)")


@dataclass
class Parameter:
    names: list[str]  # its own, then aliases
    shape: tuple[int, ...]
    kind: str
    value: float
    zero_row: int | None


def read_parameters(text: str) -> list[Parameter]:
    """Those of an imported model."""
    result = []
    for name, sizes, rest in PARAMETER.findall(text):
        init = INIT.search(rest)
        if not init:
            raise RuntimeError(f"{name}: no init")
        aliases = re.findall(r'"([^"]*)"', rest.partition("aliases")[2])
        kind, value, row = init.groups()
        shape = tuple(map(int, sizes.split("x")))
        names = [name.strip('"'), *aliases]
        result.append(Parameter(names, shape, kind, float(value or 0), int(row) if row else None))
    return result


# --- what transformers gives -------------------------------------------------------------------


def changed_fields(config: dict) -> dict:
    """Those of FIELDS that the family has."""
    import transformers
    from native_models import NATIVE_MODELS

    if config["model_type"] in NATIVE_MODELS:
        return {}
    family = transformers.AutoConfig.for_model(config["model_type"])
    return {field: value for field, value in FIELDS.items() if hasattr(family, field)}


def maker(config: dict) -> Callable[[Path], None]:
    """Makes a model and writes its file, whose names are not always those of the modules."""
    import torch
    import transformers
    from native_models import NATIVE_MODELS, native_model
    from safetensors.torch import save_file

    def make_native(folder: Path) -> None:
        model = native_model(config["model_type"], config)
        tensors = {name: torch.clone(tensor) for name, tensor in model.state_dict().items()}
        save_file(tensors, folder / "model.safetensors")

    if config["model_type"] in NATIVE_MODELS:
        return make_native
    values = {key: value for key, value in config.items() if not key.endswith("dtype")}
    family = transformers.AutoConfig.for_model(**values)
    names = config.get("architectures")
    make = getattr(transformers, names[0])._from_config if names else transformers.AutoModel.from_config
    return lambda folder: make(family).save_pretrained(folder)


def pattern(name: str) -> str:
    """Equal layers are one."""
    return re.sub(r"\.\d+(?=\.)", ".*", name)


def statistics(tensors: list[np.ndarray]) -> dict:
    """Of tensors of one shape, without the rows that are zero in all of them."""
    zero = np.all([t == 0 for t in tensors], axis=0)
    rows = np.flatnonzero(zero.all(axis=-1)).tolist() if zero.ndim == 2 and not zero.all() else []
    x = np.stack([np.delete(t, rows, axis=0).ravel() for t in tensors]).astype(np.float64)
    numbers = {"mean": x.mean(), "deviation": math.sqrt((x * x).mean()), "least": x.min(), "largest": x.max()}
    rounded = {name: float(f"{value:.6g}") for name, value in numbers.items()}
    return {"count": x.size, "rows": rows, "fixed": bool((x == x[0]).all()), **rounded}


def ask(config: dict) -> dict:
    """The changed fields, and statistics by patterns of names."""
    import torch
    import transformers
    from safetensors.numpy import load_file

    transformers.logging.set_verbosity_error()
    changed, found = changed_fields(config), {}
    make = maker(config | changed)
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(SEEDS):
            torch.manual_seed(seed)
            make(Path(scratch))
            for name, tensor in load_file(Path(scratch) / "model.safetensors").items():
                found.setdefault(pattern(name), []).append(tensor)
    return {"changed": changed, "statistics": {name: statistics(tensors) for name, tensors in found.items()}}


# --- what ours would be ------------------------------------------------------------------------


def sinusoids(shape: tuple[int, ...], span: float) -> np.ndarray:
    positions, width = shape
    angles = np.arange(positions)[:, None] / 10000 ** (np.arange(width // 2) / span)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def bound_of(parameter: Parameter) -> float | None:
    """Of a uniform distribution."""
    if parameter.kind == "uniform":
        return parameter.value
    if parameter.kind not in ("xavier_uniform", "kaiming_uniform"):
        return None
    fan_out, fan_in, *kernel = parameter.shape
    fan_in, fan_out = fan_in * math.prod(kernel), fan_out * math.prod(kernel)
    if parameter.kind == "xavier_uniform":
        return math.sqrt(6 / (fan_in + fan_out))
    return math.sqrt(6 / ((1 + parameter.value**2) * fan_in))


def why_not(parameter: Parameter, given: dict) -> str | None:
    """What differs between a parameter's distribution and what was given."""
    rows = [] if parameter.zero_row is None else [parameter.zero_row]
    if rows != given["rows"]:
        return f"rows of zeros {rows}, not {given['rows']}"
    if parameter.kind in ("zeros", "ones", "constant", "sinusoids"):
        table = np.full(parameter.shape, {"zeros": 0.0, "ones": 1.0}.get(parameter.kind, parameter.value))
        if parameter.kind == "sinusoids":
            table = sinusoids(parameter.shape, parameter.value)
        ours = statistics([table])
        same = given["fixed"] and all(abs(ours[what] - given[what]) < 2e-6 for what in NUMBERS)
        return None if same else f"{ours}, not {given}"
    bound = bound_of(parameter)
    if bound is None and parameter.kind != "normal":
        return f"{parameter.kind} is not expected of any family"
    deviation = parameter.value if bound is None else bound / math.sqrt(3)
    largest, error = max(-given["least"], given["largest"]), DEVIATIONS / math.sqrt(given["count"])
    if abs(given["deviation"] / deviation - 1) > error / math.sqrt(2):
        return f"deviation {deviation:.4g}, not {given['deviation']:.4g}"
    if abs(given["mean"]) > error * deviation:
        return f"mean 0, not {given['mean']:.4g}"
    if bound is not None and not 1 - 20 / given["count"] <= largest / bound <= 1 + 1e-6:
        return f"bound {bound:.4g}, not {largest:.4g}"
    if bound is None and given["count"] >= ENOUGH and largest < 2.2 * deviation:
        return f"normal, but the largest of {given['count']} numbers is {largest:.4g}, the deviation {deviation:.4g}"
    return None


def check(importer: Path, case: Path, answers: Answers) -> str:
    """How many patterns of parameters are the same; raises what differs."""
    config = json.loads((case / "config.json").read_text())
    answer = answers.get(case.name, config, lambda: ask(config))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "config.json").write_text(json.dumps(config | answer["changed"]))
        (folder / "model.safetensors").symlink_to(case / "model.safetensors")
        done = subprocess.run([importer, folder], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:])
    given, problems, seen = answer["statistics"], {}, set()
    for parameter in read_parameters(done.stdout):
        names = [name for name in map(pattern, parameter.names) if name in given]
        seen.add(pattern(parameter.names[0]))
        reason = why_not(parameter, given[names[0]]) if names else "transformers has none"
        if reason:
            problems[pattern(parameter.names[0])] = f"{parameter.kind}: {reason}"
    if problems:
        raise RuntimeError("; ".join(f"{name}: {reason}" for name, reason in problems.items()))
    return f"{len(seen)} kinds of parameters"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--import", dest="importer", type=Path, required=True, help="transformer-import")
    add_options(parser)
    parser.add_argument("cases", nargs="*", help="golden cases (default: all)")
    options = parser.parse_args()
    cases = options.cases or [path.parent.name for path in sorted(HERE.glob("*/config.json"))]
    cases = [case for case in cases if case != FROM_AN_OLD_FILE]
    answers = Answers(HERE / "initializers.npz", options.live, options.record)
    importer = options.importer.resolve()
    code = run_cases("initializers", cases, lambda case: check(importer, case, answers))
    answers.save()
    return code


if __name__ == "__main__":
    sys.exit(main())
