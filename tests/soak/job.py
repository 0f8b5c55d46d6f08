"""A job of the soak test: how it is started, watched, disturbed and ended."""
import collections
import os
import resource
import signal
import subprocess
import tempfile
import time
import uuid

PAGE = os.sysconf("SC_PAGE_SIZE")
STEP = 0.05  # seconds between two looks at a job
ENDING = 20  # seconds until the processes of a job that has ended must be gone

Outcome = collections.namedtuple("Outcome", "status text left")  # status None: it hung; left: processes


class Job:
    """A job. `library` is what it preloads, or None; `tmp` its TMPDIR, by default that of the caller."""

    def __init__(self, tests_run, runner, abi, np, command, library, limits=(), tmp=None):
        self.tests_run, self.program = tests_run, command[0]
        self.mark = uuid.uuid4().hex
        self.samples = {}  # of each rank: (descriptors, bytes of memory)
        env = ["LD_PRELOAD=" + library] if library else []
        self.output = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            runner.launcher(abi, np, env) + command, env=dict(runner.base_env(tmp), **{tests_run.MARK: self.mark}),
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT, start_new_session=True,
            preexec_fn=lambda: [resource.setrlimit(which, (most, most)) for which, most in limits])

    def ranks(self):
        """The processes that run the program."""
        found = []
        for pid in self.tests_run.marked(self.mark):
            try:
                if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(self.program):
                    found.append(pid)
            except OSError:
                pass
        return sorted(found)

    def sample(self):
        for pid in self.ranks():
            try:
                descriptors = len(os.listdir(f"/proc/{pid}/fd"))
                with open(f"/proc/{pid}/statm") as file:
                    self.samples.setdefault(pid, []).append((descriptors, int(file.read().split()[1]) * PAGE))
            except OSError:
                pass

    def growth(self):
        """The most by which descriptors and bytes of a rank have grown after the first quarter of its time."""
        pairs = [(all_of[len(all_of) // 4], all_of[-1]) for all_of in self.samples.values() if len(all_of) > 8]
        return tuple(max((last[i] - first[i] for first, last in pairs), default=0) for i in range(2))

    def wait(self, limit, disturb=None):
        """The outcome. `disturb` is called now and then while ranks run."""
        end, next_sample = time.monotonic() + limit, 0
        while self.process.poll() is None and time.monotonic() < end:
            if time.monotonic() > next_sample:
                self.sample()
                next_sample = time.monotonic() + 0.5
            if disturb:
                disturb(self)
            time.sleep(STEP)
        status = self.process.poll()
        stacks = "" if status is not None else self.tests_run.stacks(self.mark)
        left = self.left() if status is not None else []
        self.tests_run.end(self.mark)
        self.process.wait()
        self.output.seek(0)
        return Outcome(status, self.output.read(1 << 20).decode("utf-8", "replace") + stacks, left)

    def left(self):
        """The processes that the job leaves for longer than ENDING."""
        end = time.monotonic() + ENDING
        while True:
            left = list(self.tests_run.marked(self.mark))
            if not left or time.monotonic() > end:
                return left
            time.sleep(STEP)


def kill_one(number, delay, of_launcher):
    """A disturbance: a signal 9 for one rank or the launcher, this long after all ranks run."""
    state = {}

    def disturb(job):
        ranks = job.ranks()
        if "killed" in state or len(ranks) <= number:
            return
        state.setdefault("since", time.monotonic())
        if time.monotonic() - state["since"] > delay:
            state["killed"] = job.process.pid if of_launcher else ranks[number]
            try:
                os.kill(state["killed"], signal.SIGKILL)
            except ProcessLookupError:
                pass
    return disturb


def stop_some(chance):
    """A disturbance: ranks are stopped, and continue later."""
    stopped = {}  # pid: until when

    def disturb(job):
        now = time.monotonic()
        for pid in job.ranks():
            try:
                if pid in stopped:
                    if now > stopped[pid]:
                        os.kill(pid, signal.SIGCONT)
                        del stopped[pid]
                elif chance.random() < 0.05:
                    os.kill(pid, signal.SIGSTOP)
                    stopped[pid] = now + chance.uniform(0.01, 0.6)
            except ProcessLookupError:
                stopped.pop(pid, None)
    return disturb

