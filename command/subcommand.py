"""How the subcommands in Python read their arguments, and how they end."""
import argparse
import errno
import io
import math
import os
import re
import signal
import sys

SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP  # at which a job is ended


class Failure(Exception):
    """A sentence for the user, and the exit status."""

    def __init__(self, sentence, status=2):
        super().__init__(sentence)
        self.status = status


def cure_of_writing(error):
    """What to do if a file cannot be written."""
    cures = {errno.ENOENT: "name a file in a folder that exists", errno.ENOTDIR: "name a file in a folder that exists",
             errno.EISDIR: "name a file, not a folder", errno.ENOSPC: "make room, or name a file elsewhere",
             errno.EDQUOT: "make room, or name a file elsewhere"}
    denied = errno.EACCES, errno.EPERM, errno.EROFS
    return "name a file that you may write" if error.errno in denied else cures.get(error.errno, "name another file")


def fail_at_signals():
    """From here on, the first signal raises a Failure, so that the job ends before this program. A signal that is
    ignored, as SIGHUP after nohup, remains ignored."""
    def handler(number, frame):
        for other in SIGNALS:
            signal.signal(other, signal.SIG_IGN)
        raise Failure(f"{signal.Signals(number).name}: the job was ended, and there is no result", 128 + number)
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


def at_least(least, kind=int):
    """The type of an option with a number."""
    def convert(text):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value < math.inf:
            raise argparse.ArgumentTypeError(f"needs a number of at least {least}, not '{text}'")
        return value
    return convert


class Parser(argparse.ArgumentParser):
    """`example`: a command line with that of a job behind the options, if there is one. It becomes the option
    `line`."""

    def __init__(self, name, description, example=None):
        super().__init__(prog=f"mpiaccel {name}", allow_abbrev=False, description=description)
        self.example = example

    def add_line(self, name, help_text):
        self.add_argument("line", nargs=argparse.REMAINDER, metavar=name, help=help_text)

    def parse_args(self):
        options = super().parse_args(sys.argv[2:])  # behind the path of the command mpiaccel
        if self.example and options.line[:1] == ["--"]:
            del options.line[0]
        return options

    def error(self, message):
        unknown = re.match(r"unrecognized arguments: (\S+)", message)
        if unknown:
            message = f"there is no option {unknown[1]}"
        if unknown and self.example:
            raise Failure(f"{message}; put those of a launcher behind it: {self.example}")
        raise Failure(re.sub(r"^argument (\S+): ", r"\1 ", message) + f"; see {self.prog} --help")


class OutputError(OSError):
    """Standard output cannot be written."""


class Output(io.TextIOWrapper):
    """Standard output. What the locale cannot encode is escaped: an exception would lose results of hours."""

    def __init__(self, stream):
        encoding, line_buffering = stream.encoding, stream.line_buffering
        super().__init__(stream.detach(), encoding, "backslashreplace", line_buffering=line_buffering)

    def write(self, text):
        return self.attempt(super().write, text)

    def flush(self):
        return self.attempt(super().flush)

    def attempt(self, method, *words):
        try:
            return method(*words)
        except OSError as error:
            raise OutputError(error.errno, error.strerror)


def run(main):
    """Exit with the status that main() returns, or with a message."""
    if sys.stdout is None:
        sys.exit("mpiaccel: standard output is closed")
    sys.stdout = Output(sys.stdout)
    try:
        status = main()
        print(end="", flush=True)
    except Failure as failure:
        print(f"mpiaccel: {failure}", file=sys.stderr)
        status = failure.status
    except OutputError as error:
        # When Python exits, it writes what is left in the buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 1
        if error.errno != errno.EPIPE:
            print(f"mpiaccel: cannot write to standard output: {error.strerror}; the result is incomplete",
                  file=sys.stderr)
    except OSError as error:
        print(f"mpiaccel: {error.filename + ': ' if error.filename else ''}{error.strerror}", file=sys.stderr)
        status = 1
    sys.exit(status)
