"""Starting MPI jobs: what several subcommands need."""
import glob
import os
import shutil
import signal
import subprocess

FOLDER = os.path.dirname(os.path.realpath(__file__))
ENDING = 2  # seconds that launchers need to end a job


def command():
    own = os.path.join(FOLDER, "..", "..", "bin", "mpiaccel")
    return own if os.access(own, os.X_OK) else "mpiaccel"


def obstacle(program):
    """Why a program cannot be started, or None."""
    if shutil.which(program):
        return None
    if os.path.isdir(program):
        return "it is a folder"
    return "it is not executable" if os.path.exists(program) else "there is no such program"


def library_folders(launcher):
    """Where the MPI library of a launcher may be."""
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which(launcher) or "")))
    return sum([glob.glob(os.path.join(prefix, name)) for name in
                ("lib", "lib64", "lib/release", "lib/*-linux-gnu")], [])


def end(process):
    """End a job that has a process group of its own. Returns its output."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        return process.communicate(timeout=2 * ENDING)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()
