"""The results of the benchmark: a list of cells, each with the times of one call."""
import math
import re
import statistics

RATIO_MOST = 10  # in means: otherwise the page faults of some hosts would dominate them
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
KINDS = "latency", "throughput"


def with_size(cell):
    """The cell with its size, and the series of cells to which it belongs, if its name contains a size."""
    found = re.search(r" (\d+) (B|KiB|MiB)\b", cell["cell"])
    if found:
        cell["series"] = cell["cell"].replace(found[0], "", 1)
        cell["bytes"] = int(found[1]) * UNITS[found[2]]
    return cell


def series_of(cells, at_least):
    """Series of so many sizes: (name, cells by size)."""
    found = {}
    for cell in cells:
        if "series" in cell:
            found.setdefault(cell["series"], []).append(cell)
    return [(name, sorted(some, key=lambda cell: cell["bytes"])) for name, some in found.items()
            if len({cell["bytes"] for cell in some}) >= at_least]


def doubt(cell):
    """Why a cell is unusable, or None. A library below the floor means that the floor was disturbed."""
    if cell.get("above_floor", 1) < 0.8:
        return "floor above the library's time"
    if "ratio" in cell and cell["ratio_high"] > 10 * cell["ratio_low"]:
        return "range too wide"
    return None


def by_part(cells):
    found = {}
    for cell in cells:
        found.setdefault(cell["part"], []).append(cell)
    return found


def mean(cells):
    """The geometric mean of the ratios, or None. Cells that cannot be repeated or are unusable do not count."""
    ratios = [min(cell["ratio"], RATIO_MOST) for cell in cells if "ratio" in cell and not doubt(cell)]
    return math.exp(statistics.mean(map(math.log, ratios))) if ratios else None


def means(cells):
    """Of the latencies, of the throughputs, and of both."""
    return [*(mean([cell for cell in cells if cell["kind"] == kind]) for kind in KINDS), mean(cells)]


def header(part):
    return f"{part:48} {'library':>11} {'host':>12} {'ratio':>8} {'(range)':>16} {'floor':>11} {'above':>6}"


def row(cell):
    text = f"{cell['cell']:48} {cell['library_ns']:11.1f} {cell['host_ns']:12.1f}"
    if "ratio" in cell:
        spread = f"{cell['ratio_low']:.2f}..{cell['ratio_high']:.2f}"
        text += f" {cell['ratio']:8.2f} {spread:>16}"
    if "floor_ns" in cell:
        text += f" {cell['floor_ns']:11.1f} {cell['above_floor']:6.2f}"
    return text + (f"  UNUSABLE: {doubt(cell)}" if doubt(cell) else "")


def summary(part, cells):
    texts = ["-" if value is None else f"{value:.2f}" for value in means(cells)]
    unusable = sum(bool(doubt(cell)) for cell in cells)
    return (f"{part}: latency {texts[0]}, throughput {texts[1]}, all {texts[2]} "
            f"({len(cells)} cells{f', {unusable} of them unusable' if unusable else ''})")
