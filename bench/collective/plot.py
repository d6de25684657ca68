"""Draws time and bus bandwidth over the size of a vector, as SVG and PNG.

When imported, it starts itself with Debian's Python, which has Debian's matplotlib. Colours are medium bright and there
is no background, so that a plot can be read on dark pages and on bright ones.
"""

import json
import os
import subprocess
import sys

if __name__ != "__main__":
    import peers

GREY = "#808080"  # for texts and axes
COLOURS = ["#d9480f", "#1c7ed6", "#2b8a3e", "#ae3ec9", "#b08800", "#0b7285", "#e64980", "#5c7cfa"]
MARKERS = "osD^vPX*"


def draw(folder, name, tables):
    """Writes `name`.svg and `name`.png into `folder`, which is made if it does not exist.

    `tables`: each has a "title", "ranks", "rows" (dictionaries of "bytes" and of seconds by program) and perhaps a
    "limit": its name and its bytes per second. Without matplotlib it prints a sentence instead.
    """
    os.makedirs(folder, exist_ok=True)
    _in_debians_python(folder, name, {"tables": tables})


def draw_curves(folder, name, across, upwards, curves):
    """Writes `name`.svg and `name`.png like draw(): a line for each of `curves`, by name a dictionary of y by x.

    `across`, `upwards`: what the axes show. Both are logarithmic to the base 2; a dashed line has y = x.
    """
    os.makedirs(folder, exist_ok=True)
    points = {curve: sorted(values.items()) for curve, values in curves.items()}
    _in_debians_python(folder, name, {"across": across, "upwards": upwards, "curves": points})


def _in_debians_python(folder, name, what):
    done = subprocess.run([peers.SYSTEM_PYTHON, __file__, folder, name], input=json.dumps(what), text=True,
                          capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"bench: cannot draw: {done.stderr.strip().splitlines()[-1]} (scripts/setup --for bench installs "
                 "matplotlib)")
    print(f"drawn: {folder}/{name}.svg and {folder}/{name}.png")


def _size(number, _position=None):
    """A number of bytes for people."""
    for unit in ("B", "KB", "MB"):
        if number < 1024 or unit == "MB":
            return f"{number:g} {unit}"
        number /= 1024
    return ""


def _style(name):
    """matplotlib, set up; its pyplot and ticker."""
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker  # pylint: disable=import-outside-toplevel
    pyplot.rcParams.update({
        "text.color": GREY, "axes.edgecolor": GREY, "axes.labelcolor": GREY, "xtick.color": GREY, "ytick.color": GREY,
        "grid.color": GREY, "axes.facecolor": "none", "figure.facecolor": "none", "savefig.facecolor": "none",
        "legend.facecolor": "none", "legend.edgecolor": GREY, "legend.framealpha": 0, "svg.hashsalt": name})
    return pyplot, ticker


def _save(figure, folder, name):
    figure.tight_layout()
    figure.savefig(f"{folder}/{name}.svg", metadata={"Date": None})
    figure.savefig(f"{folder}/{name}.png", dpi=110)


def _draw_curves(folder, name, across, upwards, curves):
    pyplot, ticker = _style(name)
    figure, axes = pyplot.subplots(figsize=(8, 5.5))
    for number, (curve, points) in enumerate(curves.items()):
        axes.plot(*zip(*points), color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)],
                  markersize=4, linewidth=1.5, label=curve)
    ends = [x for points in curves.values() for x, _ in points]
    axes.plot([min(ends), max(ends)], [min(ends), max(ends)], color=GREY, linestyle="--", linewidth=1)
    for set_scale, axis in ((axes.set_xscale, axes.xaxis), (axes.set_yscale, axes.yaxis)):
        set_scale("log", base=2)
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel(across)
    axes.set_ylabel(upwards)
    axes.grid(True, alpha=0.3, linewidth=0.6)
    axes.legend(fontsize="small")
    _save(figure, folder, name)


def _draw_tables(folder, name, tables):
    pyplot, ticker = _style(name)
    figure, axes = pyplot.subplots(len(tables), 2, figsize=(13, 4.8 * len(tables)), squeeze=False)
    for (left, right), table in zip(axes, tables):
        sizes = [row["bytes"] for row in table["rows"]]
        share = 2 * (table["ranks"] - 1) / table["ranks"]
        for number, program in enumerate(key for key in table["rows"][0] if key != "bytes"):
            style = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)], "markersize": 4,
                     "linewidth": 2 if program.startswith("tony") else 1.2, "label": program}
            seconds = [row[program] for row in table["rows"]]
            left.plot(sizes, [1e6 * one for one in seconds], **style)
            right.plot(sizes, [size / one * share / 1e9 for size, one in zip(sizes, seconds)], **style)
        if "limit" in table:
            right.axhline(table["limit"][1] / 1e9, color=GREY, linestyle="--", linewidth=1, label=table["limit"][0])
        left.set_ylabel("time, µs")
        right.set_ylabel("bus bandwidth, GB/s")
        for one in (left, right):
            one.set_title(table["title"])
            one.set_xscale("log", base=2)
            one.set_yscale("log")
            one.set_xticks(sizes)
            one.xaxis.set_major_formatter(ticker.FuncFormatter(_size))
            one.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
            one.tick_params(axis="x", labelrotation=30)
            one.grid(True, alpha=0.3, linewidth=0.6)
            one.set_xlabel("vector")
        left.legend(fontsize="small")
        right.legend(fontsize="small")
    _save(figure, folder, name)


def _main(folder, name):
    what = json.load(sys.stdin)
    if "curves" in what:
        _draw_curves(folder, name, **what)
    else:
        _draw_tables(folder, name, **what)


if __name__ == "__main__":
    _main(*sys.argv[1:])
