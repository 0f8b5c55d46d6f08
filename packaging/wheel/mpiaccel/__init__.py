"""libmpiaccel, which makes MPI programs faster on a node. `python -m mpiaccel` is the command mpiaccel."""
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent


def library():
    """The path of the library, for LD_PRELOAD."""
    return str(FOLDER / "lib" / "libmpiaccel.so.0")


def __getattr__(name):
    # The package that pip has installed has the version; a variable would be a second one.
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version
    return version(__name__)
