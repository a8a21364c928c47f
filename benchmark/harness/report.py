"""The results as Markdown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.checkpoints import TITLES
from harness.processes import Ours


def number(value: float | None) -> str:
    if value is None:
        return "–"
    decimals = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{decimals}f}"


def percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def ratio(row: dict) -> str:
    return f"{row['ratio']:.2f}x {row['fastest_peer']}" if "ratio" in row else "–"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def groups(rows: list[dict]) -> list[tuple[str, list[dict]]]:
    """Rows of the same model, instruction set and threads under their title, in order."""
    found: dict[str, list[dict]] = {}
    for row in rows:
        found.setdefault(title(row["model"], row["isa"], row["threads"], row.get("dtype")), []).append(row)
    return list(found.items())


def peers_of(rows: list[dict]) -> list[str]:
    names = dict.fromkeys(name for row in rows for name in [*row["median_ms"], *row["gaps"]])
    return [name for name in names if name != Ours.name]


def model_table(rows: list[dict]) -> str:
    peers = peers_of(rows)
    header = ["shape (tokens)", *peers, Ours.name, "ratio to the fastest peer"]
    has_limit = "limit_ms" in rows[0]
    header += ["limit", "share of the limit", "GFLOP/s", "share of FMA peak"] if has_limit else []
    body = []
    for row in rows:
        times = [number(row["median_ms"].get(name)) for name in [*peers, Ours.name]]
        cells = [f"{row['shape']} ({row['tokens']})", *times, ratio(row)]
        if has_limit:
            cells += [number(row["limit_ms"]), percent(row.get("share_of_limit"))]
            cells += [number(row.get("gflops")), percent(row.get("share_of_fma_peak"))]
        body.append(cells)
    return table(header, body)


def gap_lines(rows: list[dict]) -> list[str]:
    """Each reason once, with the shapes it holds for."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for name, reason in row["gaps"].items():
            reasons.setdefault((name, reason), []).append(row["shape"])
    return [f"- No figure for {name} ({', '.join(shapes)}): {reason}" for (name, reason), shapes in reasons.items()]


def machine_lines(machine: dict) -> list[str]:
    busy = f"{100 * machine['busy_before']:.0f} % busy before the run"
    lines = [f"{machine['cpu']}, {machine['cores']} cores; {busy}.", ""]
    if not machine["limits"]:
        return lines
    body = [
        [
            str(limit["threads"]),
            f"{limit['fma_gflops']:.1f}",
            f"{limit['pairs_gflops']:.1f}",
            str(limit["vector_bits"]),
            f"{limit['read_gbs']:.1f}",
        ]
        for limit in machine["limits"]
    ]
    head = ["threads", "FMA peak, GFLOP/s", "with additions beside", "vector bits", "read bandwidth, GB/s"]
    return [*lines, table(head, body)]


def op_table(ops: list[dict]) -> str:
    body = []
    for op in ops:
        names = [op["part"], f"{op['op']} {op['shape']}"]
        if "gap" in op:
            body.append([*names, "–", "–", "–", op["gap"]])
            continue
        rate = f"{op['gflops']:.1f} GFLOP/s" if op["flops"] else f"{op['gbs']:.1f} GB/s"
        body.append([*names, f"{op['us']:.1f}", rate, percent(op["share_of_limit"]), op["bound"]])
    return table(["part of", "op", "µs", "rate", "share of the limit", "limit"], body)


def op_lines(ops: list[dict]) -> list[str]:
    lines = []
    for name, rows in groups([op | {"model": "Ops"} for op in ops]):
        lines += ["", f"## {name}", "", op_table(rows)]
    return lines


def start_lines(start: dict) -> list[str]:
    """From nothing to the first result."""
    whole = "Whole processes: start, load, one run, result written; files are warm; largest resident memory."
    size = f"Compiled in {start['compile_seconds']:.2f} s, program of {start['program_bytes'] / 2**20:.2f} MiB."
    lines = ["", f"## Start of {title(start['model'], start['isa'])}", "", f"{size} {whole}", ""]
    cell = lambda row, name: f"{row['ms'][name]:.0f} ms, {row['mib'][name]:.0f} MiB"  # noqa: E731
    return [*lines, *contestant_table("shape", start["rows"], cell)]


def generation_lines(run: dict) -> list[str]:
    lines = ["", f"## Text of {title(run['model'], run['isa'])}", ""]
    return [*lines, *contestant_table("milliseconds", run["rows"], lambda row, name: number(row["ms"][name]))]


def training_groups(trainings: list[dict]) -> list[tuple[str, list[dict]]]:
    """All models side by side, named where others have shapes."""
    workload = lambda row: f"{TITLES.get(row['model'], Path(row['model']).name)}, {row['shape']}"  # noqa: E731
    return groups([row | {"model": "Training", "shape": workload(row)} for row in trainings])


def training_lines(trainings: list[dict]) -> list[str]:
    step = "A step is forward, backward, clipping and AdamW."
    first = "From the start of a process to its end behind the first step, and the largest resident memory of some steps:"
    lines = []
    for name, rows in training_groups(trainings):
        starts = [row | {"ms": row["first_ms"]} for row in rows]
        cell = lambda row, name: f"{number(row['ms'][name] / 1e3)} s, {row['mib'][name]:.0f} MiB"  # noqa: E731
        lines += ["", f"## {name}", "", step, "", training_table(rows), "", first, ""]
        lines += contestant_table("workload", starts, cell)
        worst = max((d for row in rows for d in row["difference"].values()), default=None)
        if worst is not None:
            lines += ["", f"Largest difference of a loss without dropout from ours: {worst:.1e} of it."]
    return lines


def training_table(rows: list[dict]) -> str:
    peers = peers_of(rows)
    body = []
    for row in rows:
        times = [number(row["median_ms"].get(name)) for name in [*peers, Ours.name]]
        ours = row["median_ms"].get(Ours.name)
        rate = f"{row['tokens'] / ours * 1e3:.0f}" if ours else "–"
        body.append([f"{row['shape']} ({row['tokens']})", *times, ratio(row), rate])
    return table(["workload (tokens)", *peers, Ours.name, "ratio to the fastest peer", "tokens/s"], body)


def contestant_table(first: str, rows: list[dict], cell: Callable[[dict, str], str]) -> list[str]:
    """A column for each who took part in any row."""
    names = dict.fromkeys(name for row in rows for name in row["ms"])
    body = [[row["shape"], str(row["threads"]), *(cell(row, name) if name in row["ms"] else "–" for name in names)] for row in rows]
    gaps = gap_lines(rows)
    return [table([first, "threads", *names], body), *([""] if gaps else []), *gaps]


def title(model: str, isa: str, threads: int | None = None, dtype: str | None = None) -> str:
    parts = [TITLES.get(model, Path(model).name)]
    parts += [dtype] if dtype == "bfloat16" else []
    parts += ["all held to AVX2"] if isa == "avx2" else []
    parts += [f"{threads} thread{'s' if threads > 1 else ''}"] if threads else []
    return ", ".join(parts)


def markdown(results: dict) -> str:
    lines = ["# Side by side", ""]
    limit = "limit: what the rate of products and the read bandwidth allow"
    lines += [f"Milliseconds, medians over alternating rounds; {limit}.", ""]
    lines += machine_lines(results["machine"])
    for name, rows in groups(results["rows"]):
        lines += ["", f"## {name}", "", model_table(rows)]
        gaps = gap_lines(rows)
        lines += ["", *gaps] if gaps else []
        worst = max((d for row in rows for d in row["difference"].values()), default=None)
        if worst is not None:
            lines += ["", f"Largest difference of an output element from ours: {worst:.1e}."]
        disturbed = [row["shape"] for row in rows if row["disturbed"]]
        if disturbed:
            lines += ["", f"Something else ran while these were measured: {', '.join(disturbed)}."]
    for start in results["starts"]:
        lines += start_lines(start)
    for run in results["generations"]:
        lines += generation_lines(run)
    lines += training_lines(results["trainings"])
    lines += op_lines(results["ops"])
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    lines += ["", f"{results['date']}, commit {results['commit']}; {versions}. {results['rounds']} rounds."]
    return "\n".join(lines) + "\n"
