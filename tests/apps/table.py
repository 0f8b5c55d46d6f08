"""Results of tests/apps/run: how they are kept, and the Markdown table of them.

The table is for people who decide whether they use the library. A program gains or loses if all its runs in one
way are faster or slower than all runs without the library. For all others, the last column says why they gain
nothing, from the statistics of one more run in each way, which is not timed.
"""
import datetime
import glob
import json
import os
import re
import shutil
import statistics
import subprocess

LITTLE = 0.05  # a share of MPI of which nobody would notice a part
KEPT = ("mpiaccel", "host", "ranks", "elapsed_ns", "calls", "host_copies")


# ---- keeping ----

def reduced(path):
    """The part of the statistics that is kept."""
    with open(path) as file:
        stats = json.load(file)
    return {key: stats[key] for key in KEPT if key in stats}


def package_of(program):
    """Debian's package of a program, with its version; empty if there is none."""
    path = shutil.which(program) or program
    owner = output_of(["dpkg", "-S", os.path.realpath(path)]).partition(":")[0]
    return output_of(["dpkg-query", "-W", "-f", "${Package} ${Version}", owner]) if owner else ""


def output_of(command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    except OSError:
        return ""


def circumstances(library):
    """When and where the result was measured."""
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    with open("/etc/os-release") as file:
        system = re.search(r'PRETTY_NAME="(.*)"', file.read())
    version = output_of([os.path.join(os.path.dirname(library), "..", "bin", "mpiaccel"), "--version"])
    return {"date": datetime.date.today().isoformat(), "version": version.rpartition(" ")[2].partition("+")[0],
            "processors": len(os.sched_getaffinity(0)),
            "processor": model[1].strip() if model else "unknown processor",
            "system": system[1] if system else "unknown system", "xpmem": os.path.exists("/dev/xpmem")}


def keep(result, folder):
    folder = os.path.join(folder, str(result["ranks"]))
    os.makedirs(folder, exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9]+", "-", result["program"])
    with open(os.path.join(folder, f"{name}.{result['abi']}.json"), "w") as file:
        json.dump(result, file, indent=1)


# ---- figures ----

def spread(run):
    """The median time of the runs, with their range."""
    if "ended" in run:
        return f"ended after {run['ended']:.0f}"
    times = run["seconds"]
    text = f"{statistics.median(times):.2f}"
    return text if len(times) == 1 else f"{text} ({min(times):.2f} to {max(times):.2f})"


def ratio(runs, way):
    """The time without the library divided by that with it; None if it has no meaning."""
    if "ended" in runs[way] or runs["alone"]["wrong"]:
        return None
    median = statistics.median(runs[way]["seconds"])
    if "ended" in runs["alone"]:
        return f"> {int(runs['alone']['ended'] / median)}"
    return f"{statistics.median(runs['alone']['seconds']) / median:.2f}"


def differs(runs, way):
    """1: all runs in this way are faster than all without the library; -1: slower; 0: neither."""
    alone, times = runs["alone"]["seconds"], runs[way]["seconds"]
    if "ended" in runs[way] or "ended" in runs["alone"]:
        return ("ended" in runs["alone"]) - ("ended" in runs[way])
    return (max(times) < min(alone)) - (min(times) > max(alone))


def ns_of(call):
    return sum(call["time_ns"].values()) if "time_ns" in call else 0


def mpi_fraction(run):
    stats = run.get("statistics")
    if not stats:
        return None
    # As elapsed_ns, times are sums over the ranks.
    return sum(map(ns_of, stats["calls"].values())) / stats["elapsed_ns"]


def mpi_share(run):
    fraction = mpi_fraction(run)
    return "" if fraction is None else f"{fraction:.0%}".replace("%", " %")


def accelerated_calls(run):
    """How many calls were accelerated, and all calls of the program."""
    calls = run["statistics"]["calls"].values() if "statistics" in run else ()
    return sum(call["fast"] for call in calls), sum(call.get("calls", 0) for call in calls)


def accelerated_time(runs):
    """The time in MPI without the library that is in calls that the library accelerates, and all of it."""
    alone, library = (runs[way].get("statistics", {"calls": {}})["calls"] for way in ("alone", "library"))
    part = 0
    for name, call in alone.items():
        counts = library.get(name, {"fast": 0, "deferred": 0})
        part += ns_of(call) * counts["fast"] / max(1, counts["fast"] + counts["deferred"])
    return part, sum(map(ns_of, alone.values()))


def percentage(part, whole):
    if not whole:
        return ""
    if 0 < part < 0.005 * whole:
        return "< 1 %"
    return "> 99 %" if 0.995 * whole < part < whole else f"{part / whole:.0%}".replace("%", " %")


# ---- why a program gains nothing ----

def longest_call(stats):
    """The call with most of the time in MPI, and its share of that time."""
    name = max(stats["calls"], key=lambda call: ns_of(stats["calls"][call]))
    return name, ns_of(stats["calls"][name]) / sum(map(ns_of, stats["calls"].values()))


def message_size(stats, name):
    """The mean size of the messages of a call that the MPI performs, in bytes; of all messages if that is not known,
    as for MPI_Wait; None if there are none."""
    calls = [stats["calls"][name]]
    if not calls[0].get("host_bytes"):
        calls = [call for other, call in stats["calls"].items() if is_for_messages(other) and call.get("host_bytes")]
    number = sum(sum(call.get("sizes", {}).values()) for call in calls)
    return sum(call["host_bytes"] for call in calls) / number if number else None


def size_text(size):
    return f"{size:.0f} B" if size < 1024 else f"{size / 1024:.0f} KiB"


def is_for_messages(name):
    return any(word in name.lower() for word in ("send", "recv", "wait", "test", "probe"))


def is_accelerated(run, name):
    call = run.get("statistics", {"calls": {}})["calls"].get(name, {"fast": 0, "deferred": 0})
    return call["fast"] > call["deferred"]


def fate(runs, stats, name):
    """What happens to a call in which the program spends its time; `stats` are those of a run with it."""
    call, size = stats["calls"][name], message_size(stats, name)
    faster = sum(call.get("eager_bytes", 0) for call in runs["library"].get("statistics", stats)["calls"].values())
    if is_for_messages(name) and size:
        sent = "which the MPI sends faster" if 2 * faster > size * call["calls"] else "which are left to the MPI"
        return f": messages of {size_text(size)} on average, {sent}"
    if 2 * call["time_ns"]["waiting"] > ns_of(call):
        return ", where a rank waits for others"
    if is_accelerated(runs["library"], name):
        return ", which is accelerated"
    if is_accelerated(runs["heap"], name):
        return ", which is accelerated only with `--heap`"
    return ", which is left to the MPI" if call["deferred"] else ""


def reason(result):
    """What the program does with MPI that decides whether it gains."""
    runs = result["runs"]
    alone, library = (runs[way].get("statistics") for way in ("alone", "library"))
    fraction = mpi_fraction(runs["alone"])
    if fraction is not None and fraction < LITTLE:
        return f"only {percentage(fraction, 1)} of its time is in MPI"
    # Of a gain the time without the library is the cause, otherwise what it has left.
    gains = differs(runs, "library") > 0 or differs(runs, "heap") > 0
    stats, when = (alone, "alone") if alone and gains or not library else (library, "with the library")
    if not stats:
        return "it ended before it wrote statistics"
    name, part = longest_call(stats)
    words = f"{percentage(part, 1)} of the time in MPI {when} is in `{name}`"
    accelerated = any(is_accelerated(runs[way], name) for way in ("library", "heap"))
    if gains and result["ranks"] > result["processors"] and not accelerated:
        return f"{words}, in which ranks that wait leave the processor to others"
    return words + fate(runs, stats, name)


WORDS = {1: "gains", 0: "no difference", -1: "**loses**"}


def verdict(runs):
    if runs["alone"]["wrong"] and not runs["library"]["wrong"]:
        return "right only with the library"
    library, heap = differs(runs, "library"), differs(runs, "heap")
    return WORDS[library] + ("" if heap == library else f", with `--heap` {WORDS[heap]}")


# ---- the table ----

HEADER = ("program", "MPI", "alone", "with the library", "ratio", "with `--heap`", "ratio", "time in MPI alone",
          "accelerated calls", "accelerated time", "why")
RIGHT = range(2, 10)  # columns of numbers


def time_cell(run):
    return spread(run) + (", wrong" if run["wrong"] else "")


def host_name(result):
    stats = next((run["statistics"] for run in result["runs"].values() if "statistics" in run), None)
    return f"{stats['host']['name']} {stats['host']['version']}" if stats else result["abi"]


def row(result):
    runs = result["runs"]
    fast, calls = accelerated_calls(runs["library"])
    return [result["program"], host_name(result), time_cell(runs["alone"]), time_cell(runs["library"]),
            ratio(runs, "library") or "", time_cell(runs["heap"]), ratio(runs, "heap") or "", mpi_share(runs["alone"]),
            f"{percentage(fast, calls)} of {calls:,}", percentage(*accelerated_time(runs)),
            f"{verdict(runs)}: {reason(result)}"]


def distinct(values):
    return ", ".join(sorted(set(filter(None, values))))


def disturbed(results):
    """How many runs were timed while other programs used the processors."""
    runs = [run for result in results for run in result["runs"].values()]
    number, total = sum(run.get("beside_others", 0) for run in runs), sum(len(run["seconds"]) for run in runs)
    return f" Other programs used the processors during {number} of {total} runs." if number else ""


def introduction(results):
    """How the results were measured: date, machine, versions."""
    first = results[0]
    repeats = max(len(run["seconds"]) for result in results for run in result["runs"].values())
    dates = sorted({result["date"] for result in results})
    xpmem = "with" if first["xpmem"] else "without"
    return [f"Measured on {' to '.join(sorted({dates[0], dates[-1]}))} with libmpiaccel "
            f"{distinct(result['version'] for result in results)}, {first['ranks']} ranks on {first['processors']} "
            f"processors ({first['processor']}), {first['system']}, {xpmem} XPMEM, by",
            "",
            f"    make check-apps RANKS={first['ranks']} REPEATS={repeats} NPB=FOLDER TABLE=FILE",
            "",
            "Packages: " + distinct(result["package"] for result in results) + "." + disturbed(results)]


def write(path, folder, ranks):
    """Writes the table of all results that are kept for so many ranks."""
    results = []
    for file in sorted(glob.glob(os.path.join(folder, str(ranks), "*.json"))):
        with open(file) as kept:
            results.append(json.load(kept))
    results.sort(key=lambda result: (result["program"], result["abi"] != "ompi"))
    lines = introduction(results) + ["", "| " + " | ".join(HEADER) + " |"] if results else []
    lines += ["|" + "|".join("---:" if column in RIGHT else "---" for column in range(len(HEADER))) + "|"]
    lines += ["| " + " | ".join(row(result)) + " |" for result in results]
    with open(path, "w") as table:
        table.write("\n".join(lines) + "\n")
