"""Speed of every contestant relative to ours, and what the machine would allow: a panel for each
model and number of threads, a group of bars for each shape; a panel for training, a group for each model."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from harness.processes import Ours
from harness.report import groups, number, peers_of, training_groups

OURS, PEERS = "#c8102e", ["#30638e", "#5fa8a0", "#8d7fb3", "#d9a441", "#8a97a6", "#6d8a4f", "#a0705c"]
LIMIT = "#222222"


def unit_ms(row: dict) -> float:
    """What has the speed 1: ours; where we have no figure the limit, if there is one, else the fastest peer."""
    times = row["median_ms"]
    return times.get(Ours.name) or row.get("limit_ms") or min(times.values(), default=1.0)


def relative_speeds(row: dict, names: list[str]) -> list[float]:
    """Of each name; 0 where there is no figure."""
    return [unit_ms(row) / row["median_ms"][name] if name in row["median_ms"] else 0.0 for name in names]


def draw_limits(axis, limits: dict[int, float]) -> None:
    """`limits`: by the place of the group."""
    left, right = [x - 0.44 for x in limits], [x + 0.44 for x in limits]
    style = {"color": LIMIT, "linewidth": 1.4, "linestyle": (0, (4, 2))}
    axis.hlines(list(limits.values()), left, right, **style, label="limit of the machine")
    for x, limit in limits.items():
        axis.text(x + 0.44, limit + 0.01, f"{limit:.2f}", fontsize=7, ha="right", va="bottom", color=LIMIT)


def draw_panel(axis, title: str, rows: list[dict], names: list[str], places_wanted: int) -> None:
    """`places_wanted`: as many groups as the widest panel has, so that all bars are of one width."""
    colors = dict(zip(names, PEERS * len(names))) | {Ours.name: OURS}
    width = 0.84 / len(names)
    speeds = [relative_speeds(row, names) for row in rows]
    for i, name in enumerate(names):
        places = [x + (i - len(names) / 2 + 0.5) * width for x in range(len(rows))]
        heights = [speed[i] for speed in speeds]
        bars = axis.bar(places, heights, 0.94 * width, label=name, color=colors[name])
        # Ours has its time in the axis label, a missing figure nothing.
        texts = [f"{height:.2f}" if height and name != Ours.name else "" for height in heights]
        axis.bar_label(bars, texts, padding=1, fontsize=7, color="#333333")
    limits = {x: unit_ms(row) / row["limit_ms"] for x, row in enumerate(rows) if "limit_ms" in row}
    if limits:
        draw_limits(axis, limits)
    axis.axhline(1, color=OURS, linewidth=0.6, zorder=0)
    labels = [f"{row['shape']}, {number(row['median_ms'].get(Ours.name))} ms" for row in rows]
    axis.set_xticks(range(len(rows)), [label.replace(", ", "\n") for label in labels])
    axis.set_xlim(-0.5, places_wanted - 0.5)
    axis.set_ylim(0, 1.12 * max([1.0, *limits.values(), *(height for speed in speeds for height in speed)]))
    axis.set_ylabel("speed, ours = 1")
    axis.set_title(title, loc="left", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)


def plot(results: dict, path: Path) -> list[Path]:
    """Writes path.svg and path.png, and returns them; nothing if there are no rows or no matplotlib."""
    panels = groups(results["rows"]) + training_groups(results["trainings"])
    if not panels or not find_spec("matplotlib"):
        return []
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    widest = max(len(rows) for _, rows in panels)
    size = (max(5.5, 2 + 1.8 * widest), 0.5 + 2.9 * len(panels))
    figure, axes = pyplot.subplots(len(panels), 1, figsize=size, squeeze=False, layout="constrained")
    names = [*peers_of(results["rows"] + results["trainings"]), Ours.name]
    for axis, (title, rows) in zip(axes[:, 0], panels):
        draw_panel(axis, title, rows, names, widest)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    files = [path.with_suffix(ending) for ending in (".svg", ".png")]
    for file in files:
        figure.savefig(file, dpi=150)
    return files
