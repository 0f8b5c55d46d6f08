"""libmpiaccel, which makes MPI programs faster on a node. `python -m mpiaccel` is the command mpiaccel."""
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent


def library():
    """The path of the library, for LD_PRELOAD."""
    return str(FOLDER / "lib" / "libmpiaccel.so.0")
