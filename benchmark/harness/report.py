"""The results as Markdown."""

from __future__ import annotations

from harness.checkpoints import TITLES
from harness.processes import Ours


def number(value: float | None) -> str:
    if value is None:
        return "–"
    decimals = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{decimals}f}"


def percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def groups(rows: list[dict]) -> list[tuple[tuple[str, int], list[dict]]]:
    """Rows of the same model and threads, in order."""
    found: dict[tuple[str, int], list[dict]] = {}
    for row in rows:
        found.setdefault((row["model"], row["threads"]), []).append(row)
    return list(found.items())


def peers_of(rows: list[dict]) -> list[str]:
    names = dict.fromkeys(name for row in rows for name in [*row["median_ms"], *row["gaps"]])
    return [name for name in names if name != Ours.name]


def model_table(rows: list[dict]) -> str:
    peers = peers_of(rows)
    header = ["shape (tokens)", *peers, Ours.name, "ratio to the fastest peer"]
    header += ["limit", "share of the limit", "GFLOP/s", "share of FMA peak"]
    body = []
    for row in rows:
        times = [number(row["median_ms"].get(name)) for name in [*peers, Ours.name]]
        ratio = f"{row['ratio']:.2f}x {row['fastest_peer']}" if "ratio" in row else "–"
        limit = [number(row["limit_ms"]), percent(row.get("share_of_limit"))]
        rate = [number(row.get("gflops")), percent(row.get("share_of_fma_peak"))]
        body.append([f"{row['shape']} ({row['tokens']})", *times, ratio, *limit, *rate])
    return table(header, body)


def gap_lines(rows: list[dict]) -> list[str]:
    """Each reason once, with the shapes it holds for."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for name, reason in row["gaps"].items():
            reasons.setdefault((name, reason), []).append(row["shape"])
    return [f"- No figure for {name} ({', '.join(shapes)}): {reason}" for (name, reason), shapes in reasons.items()]


def machine_lines(machine: dict) -> list[str]:
    lines = [f"{machine['cpu']}, {machine['cores']} cores; load before the run {machine['load_before']}.", ""]
    body = [
        [threads, f"{limit['fma_gflops']:.1f}", str(limit["vector_bits"]), f"{limit['read_gbs']:.1f}"]
        for threads, limit in machine["limits"].items()
    ]
    return [*lines, table(["threads", "FMA peak, GFLOP/s", "vector bits", "read bandwidth, GB/s"], body)]


def op_lines(ops: list[dict]) -> list[str]:
    if not ops:
        return []
    lines = ["", "## Ops", ""]
    body = []
    for op in ops:
        shape = f"{op['op']} {op['shape']}"
        if "gap" in op:
            body.append([shape, str(op["threads"]), "–", "–", "–", op["gap"]])
            continue
        rate = f"{op['gflops']:.1f} GFLOP/s" if op["bound"] == "FMA" else f"{op['gbs']:.1f} GB/s"
        body.append([shape, str(op["threads"]), f"{op['us']:.1f}", rate, percent(op["share_of_limit"]), op["bound"]])
    return [*lines, table(["op", "threads", "µs", "rate", "share of the limit", "limit"], body)]


def title(model: str, threads: int) -> str:
    return f"{TITLES.get(model, model)}, {threads} thread{'s' if threads > 1 else ''}"


def markdown(results: dict) -> str:
    lines = ["# Side by side", ""]
    lines += ["Milliseconds, medians over alternating rounds; limit: what FMA peak and read bandwidth allow.", ""]
    lines += machine_lines(results["machine"])
    for (model, threads), rows in groups(results["rows"]):
        lines += ["", f"## {title(model, threads)}", "", model_table(rows)]
        gaps = gap_lines(rows)
        lines += ["", *gaps] if gaps else []
        worst = max((d for row in rows for d in row["difference"].values()), default=None)
        if worst is not None:
            lines += ["", f"Largest difference of an output element from ours: {worst:.1e}."]
    lines += op_lines(results["ops"])
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    lines += ["", f"{results['date']}, commit {results['commit']}; {versions}. {results['rounds']} rounds."]
    return "\n".join(lines) + "\n"
