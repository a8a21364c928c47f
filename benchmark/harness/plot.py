"""Speed of every contestant as a share of the machine's limit, a panel for each model and threads."""

from __future__ import annotations

from pathlib import Path

from harness.processes import Ours
from harness.report import groups, peers_of, title

OURS, PEERS = "#c8102e", ["#5b8db8", "#7fa8a3", "#b0a3c4", "#d0b27c", "#9aa5b1", "#7d8f69", "#a58a7a"]


def plot(results: dict, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels = groups(results["rows"])
    if not panels:
        return
    names = [*peers_of(results["rows"]), Ours.name]
    colors = dict(zip(names, PEERS * 3)) | {Ours.name: OURS}
    size = (9, 2.9 * len(panels))
    figure, axes = pyplot.subplots(len(panels), 1, figsize=size, squeeze=False, layout="constrained")
    for axis, ((model, threads), rows) in zip(axes[:, 0], panels):
        width = 0.8 / len(names)
        for i, name in enumerate(names):
            shares = [100 * row["limit_ms"] / row["median_ms"].get(name, float("inf")) for row in rows]
            places = [x + (i - len(names) / 2 + 0.5) * width for x in range(len(rows))]
            axis.bar(places, shares, width, label=name, color=colors[name])
        axis.axhline(100, color="#444", linewidth=0.8)
        axis.set_xticks(range(len(rows)), [row["shape"] for row in rows])
        axis.set_ylim(0, 108)
        axis.set_ylabel("% of the limit")
        axis.set_title(title(model, threads), loc="left", fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(6, len(names)), frameon=False, fontsize=8)
    for ending in (".svg", ".png"):
        figure.savefig(path.with_suffix(ending), dpi=150)
