"""Single ops: GFLOP/s or GB/s and the share of what the machine could do.

An op's time is the difference of two programs. Those of linear layers and GELU differ by the op
(the other one only gathers the rows); those of attention and layer norm by how many of it there are.
"""

from __future__ import annotations

import re
import statistics
from pathlib import Path
from string import Template

import numpy as np

from harness.machine import Limits, Machine
from harness.measure import Options, note, repeats
from harness.processes import Failure, Ours, compile_program
from harness.shapes import Arrays, lengths_of, make_inputs

FOLDER = Path(__file__).parent.parent / "ops"
COLD_BYTES = 96 << 20  # few rows: so many weights that they come from memory, as in a whole model
COLD_TOKENS = 64
TABLE_ROWS = 64  # of the tables in ops/*.mlir, from which rows come
CHAIN = (1, 5)
BUILT: set[Path] = set()


def expand(text: str, copies: int, sizes: dict) -> str:
    """Fills in $names; what stands between `// repeat` and `// end` comes `copies` times, `$i`
    counting from 0 and `$next` one ahead, with commas between after `// repeat,`."""

    def repeated(match: re.Match) -> str:
        parts = [Template(match[2]).substitute(sizes, i=i, next=i + 1, copies=copies).rstrip() for i in range(copies)]
        return match[1].join(parts) + "\n"

    text = re.sub(r"^ *// repeat(,?)\n(.*?)^ *// end\n", repeated, text, flags=re.MULTILINE | re.DOTALL)
    return Template(text).substitute(sizes, copies=copies)


def make_weights(text: str, path: Path) -> None:
    from safetensors.numpy import save_file

    random = np.random.default_rng(0)
    tensors = {}
    for name, sizes in re.findall(r"transformer\.parameter @(\w+) : tensor<([\dx]+)xf32>", text):
        shape = [int(size) for size in sizes.split("x")]
        tensors[name] = random.standard_normal(shape, dtype=np.float32) / np.float32(shape[-1] ** 0.5)
    save_file(tensors, path)


def build(op: str, copies: int, sizes: dict, options: Options, *compiled: str) -> tuple[Path, Path]:
    """The program, compiled once by this process, with these options besides, and its weights."""
    folder = options.cache / "ops"
    stem = "-".join([op, *map(str, sizes.values()), str(copies)])
    source, weights = folder / f"{stem}.mlir", folder / f"{stem}.safetensors"
    program = folder / options.isa.file_name(stem)
    if program not in BUILT:
        folder.mkdir(parents=True, exist_ok=True)
        text = expand((FOLDER / f"{op}.mlir").read_text(), copies, sizes)
        source.write_text(text)
        compile_program(options.compiler, source, program, options.isa, *compiled)
        if not weights.exists():
            make_weights(text, weights)
        BUILT.add(program)
    return program, weights


def compare(programs: list[tuple[Path, Path]], inputs: Arrays, threads: int, options: Options) -> list[float]:
    """Median seconds of each program, in alternating rounds."""
    from safetensors.numpy import save_file

    contestants, rounds = [], [[] for _ in programs]
    for program, weights in programs:
        contestant = Ours(program, weights, threads, program.parent)
        contestant.inputs = program.parent / "inputs.safetensors"
        contestants.append(contestant)
    save_file(inputs, contestants[0].inputs)
    counts = [repeats(options, contestant.median_ms(3) / 1e3) for contestant in contestants]
    for _ in range(options.rounds):
        for contestant, count, times in zip(contestants, counts, rounds):
            times.append(contestant.median_ms(count) / 1e3)
    return [statistics.median(times) for times in rounds]


def row_ids(tokens: int) -> Arrays:
    return {"ids": np.arange(tokens, dtype=np.int64) % TABLE_ROWS}


def linear(op: dict, tokens: int, threads: int, options: Options) -> tuple[float, float, float]:
    """Seconds, operations and bytes from memory of one layer."""
    sizes = {"K": op["K"], "N": op["N"]}
    weight = 4 * op["K"] * op["N"]
    cold = tokens <= COLD_TOKENS
    copies = -(-COLD_BYTES // weight) if cold else 1
    programs = [build(op["op"], copies, sizes, options), build("rows", copies, {"K": op["K"]}, options)]
    whole, rows = compare(programs, row_ids(tokens), threads, options)
    return (whole - rows) / copies, 2.0 * tokens * op["K"] * op["N"], weight if cold else 0.0


def gelu(op: dict, tokens: int, threads: int, options: Options) -> tuple[float, float, float]:
    sizes = {"K": op["K"]}
    programs = [build("gelu", 1, sizes, options), build("rows", 1, sizes, options)]
    whole, rows = compare(programs, row_ids(tokens), threads, options)
    return whole - rows, 0.0, 8.0 * tokens * op["K"]


def chain(op: str, sizes: dict, inputs: Arrays, threads: int, options: Options) -> float:
    few, many = compare([build(op, copies, sizes, options) for copies in CHAIN], inputs, threads, options)
    return (many - few) / (CHAIN[1] - CHAIN[0])


def layer_norm(op: dict, tokens: int, threads: int, options: Options) -> tuple[float, float, float]:
    return chain("layer-norm", {"K": op["K"]}, row_ids(tokens), threads, options), 0.0, 8.0 * tokens * op["K"]


def attention(op: dict, lengths: list[int], threads: int, options: Options) -> tuple[float, float, float]:
    width = op["heads"] * op["head_dim"]
    inputs = make_inputs(lengths, TABLE_ROWS)
    del inputs["token_type_ids"]
    sizes = {"heads": op["heads"], "head_dim": op["head_dim"], "K": width}
    seconds = chain("attention", sizes, inputs, threads, options)
    return seconds, 4.0 * width * sum(length**2 for length in lengths), 0.0


OPS = {"linear": linear, "linear-gelu": linear, "gelu": gelu, "layer-norm": layer_norm, "attention": attention}


def cases(op: dict, run: dict) -> list[tuple[str, int | list[int]]]:
    """What an op is measured with: tokens x K x N, or tokens x width, and the tokens; or shape and
    heads, and the lengths of the rows."""
    if op["op"] == "attention":
        heads = f"{op['heads']} heads of {op['head_dim']}"
        return [(f"{name}, {heads}", lengths_of(shape)) for name, shape in run["shapes"].items()]
    sizes = [op["K"], *([op["N"]] if "N" in op else [])]
    all_tokens = op.get("tokens", run["tokens"])
    return [("x".join(map(str, [tokens, *sizes])), tokens) for tokens in all_tokens]


def judge(row: dict, limits: Limits) -> dict:
    if "gap" in row:
        return row
    seconds, flops, bytes_read = row["us"] * 1e-6, row["flops"], row["bytes"]
    if not flops and bytes_read < 2 * COLD_BYTES:  # stays in the cache, whose bandwidth is not measured
        return row | {"gbs": bytes_read / seconds * 1e-9, "share_of_limit": None, "bound": "in cache"}
    by_products = flops / (limits.pairs_gflops * 1e9) >= bytes_read / (limits.read_gbs * 1e9)
    return row | {
        "gflops": flops / seconds * 1e-9,
        "gbs": bytes_read / seconds * 1e-9,
        "share_of_limit": limits.seconds(flops, bytes_read) / seconds,
        "bound": "products" if by_products else "read bandwidth",
    }


def measure_op(op: dict, shape: str, rows: int | list[int], threads: int, options: Options) -> dict:
    """`rows`: tokens, or lengths of sequences."""
    row = {"part": op["part"], "op": op["op"], "shape": shape, "isa": options.isa.name, "threads": threads}
    try:
        seconds, flops, bytes_read = OPS[op["op"]](op, rows, threads, options)
        if seconds <= 0:
            raise Failure("lost in the noise")
        row |= {"us": seconds * 1e6, "flops": flops, "bytes": bytes_read}
    except Failure as failure:
        row["gap"] = str(failure)
    note(f"{row['op']} {row['shape']}, {threads} threads: {row.get('gap') or format(row['us'], '.1f') + ' us'}")
    return row


def measure_ops(run: dict, all_threads: list[int], machine: Machine, options: Options) -> list[dict]:
    """`run`: a run file with "ops"."""
    rows = []
    for threads in all_threads:
        for op in run["ops"]:
            machine.measure(threads, options.isa)
            rows += [measure_op(op, *case, threads, options) for case in cases(op, run)]
        machine.measure(threads, options.isa)
    return [judge(row, machine.limits[row["threads"], options.isa.name]) for row in rows]
