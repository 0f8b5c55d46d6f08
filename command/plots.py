"""Drawings in SVG, with colours for light and dark pages."""
import math
from xml.sax.saxutils import escape

FONT = "system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"
STYLE = """<style>
.page { fill: #ffffff; stroke: #d0d7de } .text { fill: #1f2328 } .small { fill: #57606a; font-size: 12px }
.grid { stroke: #e4e8ec } .axis { stroke: #57606a } .range { stroke: #1f2328; fill: none }
.a { fill: #2f6db3 } .b { fill: #d9822b } .c { fill: #6e7781 }
.line { fill: none; stroke-width: 2; stroke-linejoin: round }
.line.a { stroke: #2f6db3 } .line.b { stroke: #d9822b } .line.c { stroke: #6e7781; stroke-dasharray: 6 4 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117; stroke: #30363d } .text { fill: #e6edf3 } .small { fill: #a5adb6 }
.grid { stroke: #262c34 } .axis { stroke: #8b949e } .range { stroke: #e6edf3 }
.a { fill: #58a6ff } .b { fill: #f0a35c } .c { fill: #a5adb6 }
.line { fill: none } .line.a { stroke: #58a6ff } .line.b { stroke: #f0a35c } .line.c { stroke: #a5adb6 }
}
</style>"""


def drawing(width, height, title, parts):
    """A complete SVG. It has a background of its own, in case the page's is of the other kind."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="{FONT}" font-size="13" role="img">',
        f"<title>{escape(title)}</title>", STYLE,
        f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        text(20, 27, title, 'class="text" font-size="15" font-weight="600"'), *parts, "</svg>\n"])


def text(x, y, content, attributes='class="text"'):
    return f'<text x="{x:.1f}" y="{y:.1f}" {attributes}>{escape(content)}</text>'


def grid_line(x1, y1, x2, y2, kind="grid"):
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


# ---- bars: how many times as fast ----

RATIOS = (0.5, *(step * 10 ** power for power in range(6) for step in (1, 2, 5)))
LEFT, WIDTH, RIGHT = 300, 380, 60  # names, bars, the last number
TOP, ROW, BAR, BOTTOM = 66, 40, 13, 44


def bars(title, names, rows):
    """For each row (name, [(ratio, lowest, highest), ...]) a bar for each of two names, on a logarithmic axis."""
    most = max(highest for _, ratios in rows for _, _, highest in ratios)
    ticks = [tick for tick in RATIOS if tick < most]
    ticks.append(RATIOS[len(ticks)])
    bottom = TOP + ROW * len(rows)

    def x(ratio):
        return LEFT + WIDTH * math.log(max(ratio, ticks[0]) / ticks[0]) / math.log(ticks[-1] / ticks[0])

    parts = []
    for at, name in enumerate(names):
        parts.append(f'<rect class="{"ab"[at]}" x="{LEFT + 170 * at}" y="40" width="12" height="12" rx="2"/>')
        parts.append(text(LEFT + 170 * at + 18, 50.5, name))
    for tick in ticks:
        parts.append(grid_line(x(tick), TOP, x(tick), bottom, "axis" if tick == 1 else "grid"))
        parts.append(text(x(tick), bottom + 17, f"{tick:g}×", 'class="small" text-anchor="middle"'))
    for at, (name, ratios) in enumerate(rows):
        top = TOP + ROW * at + (ROW - 2 * BAR) / 2
        parts.append(text(LEFT - 12, top + BAR + 4.5, name, 'class="text" text-anchor="end"'))
        for number, (ratio, lowest, highest) in enumerate(ratios):
            parts += bar("ab"[number], top + BAR * number, x(1), x(ratio), x(lowest), x(highest), f"{ratio:.1f}")
    parts.append(text(LEFT, bottom + 35, "logarithmic; bar: median, line: range of the rounds; longer is faster",
                      'class="small"'))
    return drawing(LEFT + WIDTH + RIGHT, bottom + BOTTOM, title, parts)


def bar(kind, y, one, ratio, lowest, highest, number):
    """All but `y` and `kind` are positions on the axis; `one` is that of a ratio of 1."""
    start, stop = sorted((one, ratio))
    middle = y + (BAR - 1) / 2
    return [f'<rect class="{kind}" x="{start:.1f}" y="{y:.1f}" width="{max(stop - start, 1):.1f}" height="{BAR - 1}"/>',
            f'<path class="range" d="M{lowest:.1f} {middle:.1f}H{highest:.1f}M{lowest:.1f} {middle - 3:.1f}v6'
            f'M{highest:.1f} {middle - 3:.1f}v6"/>',
            text(max(highest, stop) + 6, middle + 4, number, 'class="text" font-size="11"')]


# ---- lines: time over message size ----

BOX = 84, 84, 700, 400  # left, top, right, bottom of the axes
SIZE = 730, 458


def size_text(size):
    for unit in "B", "KiB", "MiB":
        if size < 1024:
            break
        size /= 1024
    return f"{size:g} {unit}"


def time_text(ns):
    for unit in "ns", "µs", "ms", "s":
        if ns < 1000 or unit == "s":
            return f"{ns:.3g} {unit}"
        ns /= 1000


def time_ticks(lowest, highest):
    """Powers of ten, or with 2 and 5 in between; from one that is not above `lowest` to one not below `highest`."""
    steps = (1,) if highest / lowest > 50 else (1, 2, 5)
    all_ticks = [step * 10.0 ** power for power in range(-2, 12) for step in steps]
    first = max(at for at, tick in enumerate(all_ticks) if tick <= lowest or at == 0)
    last = min(at for at, tick in enumerate(all_ticks) if tick >= highest or at == len(all_ticks) - 1)
    return all_ticks[first:max(last, first + 1) + 1]


def lines(title, remark, curves):
    """Times over sizes, both logarithmic: `curves` are up to three (label, [(bytes, ns), ...])."""
    left, top, right, bottom = BOX
    points = [point for _, curve in curves for point in curve]
    sizes = [size for size, _ in points]
    ticks = time_ticks(min(ns for _, ns in points), max(ns for _, ns in points))

    def x(size):
        return left + 12 + (right - left - 24) * math.log(size / min(sizes)) / math.log(max(sizes) / min(sizes))

    def y(ns):
        return bottom - (bottom - top) * math.log(ns / ticks[0]) / math.log(ticks[-1] / ticks[0])

    parts = [text(20, 47, remark, 'class="small"')]
    for tick in ticks:
        parts.append(grid_line(left, y(tick), right, y(tick), "axis" if tick == ticks[0] else "grid"))
        parts.append(text(left - 8, y(tick) + 4.5, time_text(tick), 'class="small" text-anchor="end"'))
    size = min(sizes)
    while size <= max(sizes):
        parts.append(grid_line(x(size), top, x(size), bottom))
        parts.append(text(x(size), bottom + 18, size_text(size), 'class="small" text-anchor="middle"'))
        size *= 8
    middle = (top + bottom) / 2
    parts.append(text((left + right) / 2, bottom + 42, "message size (logarithmic)",
                      'class="text" text-anchor="middle"'))
    parts.append(text(0, 0, "time per call (logarithmic)",
                      f'class="text" text-anchor="middle" transform="translate(22 {middle:.1f}) rotate(-90)"'))
    at = left
    for kind, (label, curve) in zip("abc", curves):
        parts.append(f'<path class="line {kind}" d="M{at} 67h26"/>')
        parts.append(text(at + 34, 71.5, label))
        at += 34 + 8 * len(label) + 24
        path = "L".join(f"{x(size):.1f} {y(ns):.1f}" for size, ns in curve)
        parts.append(f'<path class="line {kind}" d="M{path}"><title>{escape(label)}</title></path>')
        parts += [f'<circle class="{kind}" cx="{x(size):.1f}" cy="{y(ns):.1f}" r="3.5"><title>'
                  f"{escape(label)}: {size_text(size)}, {time_text(ns)}</title></circle>" for size, ns in curve]
    return drawing(*SIZE, title, parts)
