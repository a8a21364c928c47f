#!/usr/bin/env python3
"""Linear layers on narrow weights compute what the definition says (test/quantize.py), to the last bit where
its weights alone are bfloat16.

A model of three linear layers (both layouts, a long sum, widths that no tile divides) is run on random rows,
as f32, by multiply-adds, on weights that were rounded beforehand and with each --weights-dtype on those that were not; with
--activations-dtype int8 (on CPUs that multiply bfloat16 also bf16) as well, the f32 program on rows that were rounded beforehand:
- float64 products of the rounded numbers: the error of the narrow program is that of the f32 program, at most;
- a row alone, among others and with 1 or 2 threads has the same bits; bfloat16's are those of the f32 program;
- a file of packed weights is as small as the format, gives the same bits, and is no other program's.
Golden models go through transformer-verify: tied heads, merged projections, layers that are called twice. A
float32 feature on the edge between two integers may fall to the other side than the interpreter's; what that
changes is far below what the rounding itself does, which the bound is made for.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import GOLDEN, Report, compile_program, execute
from safetensors.numpy import load_file, save_file

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import quantize  # noqa: E402

# Name, inputs, outputs, layout: two and a half groups and sums in blocks of k, the last one longer than a cache.
LAYERS = (("a", 300, 131, "out_in"), ("b", 300, 200, "in_out"), ("c", 5000, 35, "out_in"))
ROWS = (1, 2, 3, 4, 5, 7, 40)
# With a feature that tells whether this CPU runs it.
ARCHS = {
    "x86-64-v2": "sse4_2",
    "x86-64-v3": "avx2",
    "x86-64-v4/no-winograd": "avx512dq",
    "native/no-winograd": "sse2",
}
FORMS = (*quantize.FORMATS, *quantize.INTEGER_ROWS)
CASES = ("llama-lm", "gpt2-lm", "bert-long", "t5-lm", "albert-groups", "bloom-lm")
# Bytes of a weight beside those of float32, scales and padding included (of rows of bfloat16 to whole matrix registers).
SHARES = {"bf16": 0.51, "int8": 0.27, "int4": 0.16, "int8/int8": 0.27, "int4/int8": 0.16, quantize.BF16_ROWS: 0.515}

# Of a value of a golden model, where a feature may fall to the other side of an edge: of 8 bits, or by 2^-8 of itself.
BOUNDS = dict.fromkeys(quantize.INTEGER_ROWS, 1e-3) | {quantize.BF16_ROWS: 1e-2}

Arrays = dict[str, np.ndarray]
Layers = tuple[tuple[str, int, int, str], ...]  # names, inputs, outputs, layouts


def model_text(layers: Layers) -> str:
    parameters, arguments, results, body, values, types = [], [], [], [], [], []
    for name, k, n, layout in layers:
        weight = f"tensor<{n}x{k}xf32>" if layout == "out_in" else f"tensor<{k}x{n}xf32>"
        parameters.append(f"transformer.parameter @{name} : {weight}")
        dims = 'transformer.dims = ["rows"]'
        arguments.append(f'%x{name}: tensor<?x{k}xf32> {{transformer.name = "x{name}", {dims}}}')
        results.append(f'tensor<?x{n}xf32> {{transformer.name = "y{name}", {dims}}}')
        body.append(f"  %{name} = transformer.get_parameter @{name} : {weight}")
        rows = f"tensor<?x{k}xf32>, {weight} -> tensor<?x{n}xf32>"
        body.append(f"  %y{name} = transformer.linear %x{name}, %{name} {layout} : {rows}")
        values.append(f"%y{name}")
        types.append(f"tensor<?x{n}xf32>")
    return "\n".join(
        [
            *parameters,
            f"func.func @forward({', '.join(arguments)}) -> ({', '.join(results)}) attributes {{transformer.entry}} {{",
            *body,
            f"  return {', '.join(values)} : {', '.join(types)}",
            "}\n",
        ]
    )


class Model:
    """The layers' weights as in a file, and exact products of them; weights are [outputs, inputs] inside."""

    def __init__(self, folder: Path, layers: Layers = LAYERS, rows: int = max(ROWS)):
        random = np.random.default_rng(3)
        self.folder, self.source, self.layers = folder, folder / "model.mlir", layers
        self.source.write_text(model_text(layers))
        self.weights = {
            name: (random.standard_normal((n, k)) * np.exp2(random.integers(-3, 4, (n, 1)))).astype(np.float32)
            for name, k, n, _ in layers
        }
        self.x = {f"x{name}": random.standard_normal((rows, k)).astype(np.float32) for name, k, *_ in layers}
        self.plain = self.save("model.safetensors", self.weights)

    def save(self, name: str, weights: Arrays) -> Path:
        layouts = {layer: layout for layer, _, _, layout in self.layers}
        stored = {layer: w if layouts[layer] == "out_in" else w.T for layer, w in weights.items()}
        save_file({layer: np.ascontiguousarray(w) for layer, w in stored.items()}, self.folder / name)
        return self.folder / name

    def rounded(self, form: str) -> Arrays:
        return {name: quantize.rounded(weight, form.partition("/")[0]) for name, weight in self.weights.items()}

    def rows(self, form: str) -> Arrays:
        rows = form.partition("/")[2]
        return {name: quantize.rounded_rows(x, rows) if rows else x for name, x in self.x.items()}

    def compile(self, compiler: Path, arch: str, form: str) -> Path:
        program = self.folder / f"{form}-{arch}".replace("/", "-")
        compile_program(compiler, self.source, program, "--arch", arch, *quantize.options(form))
        return program

    def run(self, program: Path, weights: Path, rows: slice, threads: int = 1, *options: object, x: Arrays | None = None) -> Arrays:
        inputs, outputs = self.folder / "in.safetensors", self.folder / "out.safetensors"
        outputs.unlink(missing_ok=True)
        save_file({name: np.ascontiguousarray(each[rows]) for name, each in (x or self.x).items()}, inputs)
        files = ["--weights", weights, "--inputs", inputs, "--outputs", outputs]
        done = execute([program, "run", *files, "--threads", threads, *options])
        if done.code != 0:
            raise RuntimeError(f"exit code {done.code}: {done.complaint()}")
        self.notes = done.stderr
        return load_file(outputs)

    def error(self, found: Arrays, weights: Arrays, rows: Arrays) -> float:
        """The largest, over what a sum's terms amount to."""
        worst = 0.0
        for name, weight in weights.items():
            x, w = rows[f"x{name}"].astype(np.float64), weight.astype(np.float64)
            magnitude = np.abs(x) @ np.abs(w.T) / np.sqrt(x.shape[1])
            worst = max(worst, float((np.abs(found[f"y{name}"] - x @ w.T) / magnitude).max()))
        return worst


def forms_of(arch: str) -> tuple[str, ...]:
    of_native = arch.startswith("native") and quantize.multiplies_bfloat16()
    return (*FORMS, quantize.BF16_ROWS) if of_native else FORMS


def differing(found: Arrays, wanted: Arrays) -> str | None:
    for name, value in wanted.items():
        if found[name].tobytes() != value.tobytes():
            return f"{name} differs, by up to {np.abs(found[name].astype(np.float64) - value).max():.2g}"
    return None


def check_rows(model: Model, program: Path, whole: Arrays) -> str | None:
    """Rows of every number of them, with one thread and two, against those among all."""
    for count in ROWS:
        for first in {0, max(ROWS) - count}:
            for threads in (1, 2):
                found = model.run(program, model.plain, slice(first, first + count), threads)
                wanted = {name: y[first : first + count] for name, y in whole.items()}
                if reason := differing(found, wanted):
                    return f"{count} rows from {first} on, {threads} threads: {reason}"
    return None


def prepared_bytes(packed: Path) -> int:
    return int(re.search(rb"prepared tensors of (\d+) bytes", packed.read_bytes()[:4096])[1])


def check_packed(model: Model, programs: dict[str, Path], form: str, whole: Arrays) -> str | None:
    packed = {name: model.folder / f"{name.replace('/', '-')}.packed" for name in ("f32", form)}
    everything = slice(None)
    for name, path in packed.items():
        path.unlink(missing_ok=True)
        model.run(programs[name], model.plain, everything, 2, "--packed-weights", path)
    is_packed = packed["f32"].exists()  # a GPU's kernels read them where they are
    plain = prepared_bytes(packed["f32"]) if is_packed else sum(weight.nbytes for weight in model.weights.values())
    share = prepared_bytes(packed[form]) / plain
    if share > SHARES[form]:
        return f"{share:.3f} of float32's bytes, expected at most {SHARES[form]}"
    found = model.run(programs[form], model.plain, everything, 2, "--packed-weights", packed[form])
    if model.notes or differing(found, whole):
        return f"the second run is another: {model.notes.strip()} {differing(found, whole)}"
    if not is_packed:
        return None
    found = model.run(programs[form], model.plain, everything, 2, "--packed-weights", packed["f32"])
    if "made by another program" not in model.notes or differing(found, whole):
        return f"with the packed weights of float32: {model.notes.strip()} {differing(found, whole)}"
    return None


def check_model(model: Model, compiler: Path, arch: str, report: Report) -> None:
    forms = forms_of(arch)
    programs = {form: model.compile(compiler, arch, form) for form in forms}
    programs["f32"] = model.compile(compiler, arch.replace("native", "native/no-amx"), "f32")
    for form in forms:
        label = f"weights-dtype/{form}, {arch}"
        rounded, rows = model.rounded(form), model.rows(form)
        plain = model.run(programs["f32"], model.save("rounded.safetensors", rounded), slice(None), x=rows)
        whole = model.run(programs[form], model.plain, slice(None))
        error, allowed = model.error(whole, rounded, rows), model.error(plain, rounded, rows)
        print(f"{label}: error {error:.2e}, float32's {allowed:.2e}")
        worse = None if error <= 1.5 * allowed else f"error {error:.2e}, float32's {allowed:.2e}"
        report.add(f"{label}: against float64", worse)
        if form == "bf16":
            short = {name: y for name, y in plain.items() if name != "yc"}  # k in blocks of other lengths
            report.add(f"{label}: bits of float32", differing(whole, short))
        report.add(f"{label}: a row's bits", check_rows(model, programs[form], whole))
        report.add(f"{label}: packed weights", check_packed(model, programs, form, whole))


def check_golden(verify: Path, report: Report) -> None:
    for name in CASES:
        arch = "native/no-winograd"
        for form in forms_of(arch):
            case, bound = GOLDEN / name, BOUNDS.get(form, 1e-5)
            command = [verify, case, "--inputs", case / "inputs.safetensors", *quantize.options(form)]
            done = execute([*command, "--bound", bound, "--arch", arch])
            print(done.stdout, end="")
            report.add(f"weights-dtype/{form}, {name}: as the interpreter", None if done.code == 0 else done.complaint())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile; transformer-verify beside it")
    parser.add_argument("--archs", default=list(ARCHS), nargs="*", help="as --arch of transformer-compile")
    options = parser.parse_args()
    compiler, report = options.compile.resolve(), Report()
    verify = compiler.with_name(compiler.name.replace("compile", "verify"))
    with tempfile.TemporaryDirectory() as scratch:
        features = Path("/proc/cpuinfo").read_text().split()
        for arch in (name for name in options.archs if ARCHS[name] in features):
            try:
                check_model(Model(Path(scratch)), compiler, arch, report)
            except RuntimeError as error:
                report.add(f"weights-dtype, {arch}", str(error))
    check_golden(verify, report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
