"""Replace this process by the command mpiaccel."""
import os
import sys

from . import FOLDER


def main():
    os.execv(FOLDER / "bin" / "mpiaccel", ["mpiaccel", *sys.argv[1:]])


if __name__ == "__main__":
    main()
