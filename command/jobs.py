"""Starting MPI jobs and showing how far they are: what several subcommands need."""
import contextlib
import functools
import glob
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from subcommand import SIGNALS, Failure

FOLDER = os.path.dirname(os.path.realpath(__file__))
ENDING = 2  # seconds that launchers need to end a job


def command():
    """The path of mpiaccel, which started this program."""
    return sys.argv[1]


def obstacle(program):
    """Why a program cannot be started, or None."""
    if shutil.which(program):
        return None
    if os.path.isdir(program):
        return "it is a folder"
    return "it is not executable" if os.path.exists(program) else "there is no such program"


def cannot_start(program, reason):
    return f"cannot start '{program}': {reason}; give a program in PATH, or its path"


@contextlib.contextmanager
def started(job, stdin=subprocess.DEVNULL, **files):
    """Start a job in a process group of its own. If the block that uses it fails, the job is ended first."""
    process = None
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until `process` is set
    unblock = functools.partial(signal.pthread_sigmask, signal.SIG_SETMASK, mask)
    try:
        try:
            process = subprocess.Popen(job, stdin=stdin, start_new_session=True, preexec_fn=unblock, **files)
        except OSError as error:
            raise Failure(cannot_start(job[0], obstacle(job[0]) or error.strerror))
        finally:
            unblock()
        yield process
    except BaseException:
        if process:
            end(process)
        raise


def end(process):
    """End a job that was started here. Returns its output."""
    send(process, signal.SIGTERM)
    try:
        return process.communicate(timeout=2 * ENDING)
    except subprocess.TimeoutExpired:
        send(process, signal.SIGKILL)
        return process.communicate()


def send(process, number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def temporary_folder():
    try:
        return tempfile.TemporaryDirectory(prefix="mpiaccel.")
    except OSError:
        raise Failure("there is no folder for temporary files; set TMPDIR to one that can be written")


class Others:
    """How many processors other programs, and the hypervisor, use between begin() and end(), on average: the busy time of
    the processors on which this program may run, less that of the jobs that have ended meanwhile. The processes of a job
    that a daemon has started, as with srun, cannot be distinguished from other programs. So a job does not count if its
    known processes have used less than OWN_LEAST."""

    NOTICED = 0.15  # processors
    OWN_LEAST = 0.1  # processors

    def __init__(self):
        self.processors = os.sched_getaffinity(0)
        self.seconds = self.used = 0.0
        self.load = 0.0  # the highest average of the last minute

    def busy(self):
        """Seconds since boot, by /proc/stat: all but idle and waiting for files, and without guests, which count twice."""
        ticks = 0
        with open("/proc/stat", encoding="ascii") as file:
            for line in file:
                name, *fields = line.split()
                if name[:3] == "cpu" and name[3:].isdigit() and int(name[3:]) in self.processors:
                    ticks += sum(map(int, fields[:3] + fields[5:8]))
        return ticks / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def own():
        """Of this program and of the jobs that it has waited for."""
        return sum(sum(times[:2]) for times in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))

    def begin(self):
        self.start = time.monotonic(), self.busy(), self.own()

    def end(self):
        seconds, busy, own = (now - then for now, then in zip((time.monotonic(), self.busy(), self.own()), self.start))
        if own < self.OWN_LEAST * seconds:
            return
        self.used += max(0.0, busy - own)
        self.seconds += seconds
        self.load = max(self.load, os.getloadavg()[0])

    def average(self):
        return min(self.used / self.seconds, len(self.processors)) if self.seconds else 0.0

    def are_noticed(self):
        # Counts of less than a tick, and of the end of a job, are inexact.
        return self.average() >= self.NOTICED and self.used >= 0.1

    def text(self):
        count = len(self.processors)
        return (f"other programs used {self.average():.1f} of {count} processor{'s' if count != 1 else ''} meanwhile "
                f"(load average {self.load:.1f})")


class StatusLine:
    """A line that is written again and again if standard error is a terminal."""

    def __init__(self):
        self.terminal = sys.stderr.isatty()

    def write(self, text):
        if self.terminal:
            sys.stderr.write(f"\r\033[K{text}")
            sys.stderr.flush()

    def clear(self):
        self.write("")


def with_library(line, heap=False):
    """The command line that preloads the library, with `heap` also the heap of malloc, as a list of pairs, one for each
    program that it starts: the words in front of it, and the program with its arguments. The options of an unknown
    launcher are in the second one."""
    options = ["--heap"] * heap + ["--print-parts", "--"]
    result = subprocess.run([command(), "run", *options, *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if result.returncode:
        raise Failure(os.fsdecode(result.stderr).partition("mpiaccel: ")[2].strip())
    parts = [shlex.split(part) for part in os.fsdecode(result.stdout).split("\0")]
    return list(zip(parts[::2], parts[1::2]))


def library_folders(launcher):
    """Where the MPI library of a launcher may be."""
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which(launcher) or "")))
    return sum([glob.glob(os.path.join(prefix, name)) for name in
                ("lib", "lib64", "lib/release", "lib/*-linux-gnu")], [])
