"""A build backend (PEP 517) that packs the folder mpiaccel, with the library and the command, as a wheel."""
import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE / "mpiaccel"
ALLOWED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0",
           "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}  # manylinux: of glibc only
METADATA = """Metadata-Version: 2.1
Name: mpiaccel
Version: {version}
Summary: faster one-sided calls and collectives of MPI programs on a node
License: BSD-3-Clause AND BSD-2-Clause
Maintainer: {contact}
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""
WHEEL = """Wheel-Version: 1.0
Generator: libmpiaccel
Root-Is-Purelib: false
Tag: {tag}
"""
ENTRY_POINTS = """[console_scripts]
mpiaccel = mpiaccel.__main__:main
"""


def readelf(option, file):
    done = subprocess.run(["readelf", "--wide", option, file], capture_output=True, text=True)
    return done.stdout if not done.returncode else ""  # nothing for a script


def tag():
    """The wheel runs with every C library that has the symbols to which the files refer."""
    version = (2, 17)
    for file in filter(pathlib.Path.is_file, PACKAGE.rglob("*")):
        foreign = set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", file))) - ALLOWED
        if foreign:
            raise SystemExit(f"wheel: {file} needs {', '.join(sorted(foreign))}, which may be missing elsewhere")
        names = readelf("--version-info", file)
        for major, minor in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", names):
            version = max(version, (int(major), int(minor)))
        if "Name: GLIBC_ABI_DT_RELR" in names:
            version = max(version, (2, 36))
    return "py3-none-manylinux_{}_{}_{}".format(*version, platform.machine())


def python_version(version):
    """The version as PEP 440 writes it: 0.3.0.devN+gCOMMIT for 0.3.0-dev.N+gCOMMIT."""
    return re.sub("-dev$", ".dev0", version).replace("-dev.", ".dev")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    version = python_version((HERE / "version").read_text().strip())
    info, what = f"mpiaccel-{version}.dist-info", tag()
    files = {str(file.relative_to(HERE)): file.read_bytes() for file in sorted(PACKAGE.rglob("*"))
             if file.is_file() and file.suffix != ".pyc"}
    programs = {str(file.relative_to(HERE)) for file in PACKAGE.rglob("*") if os.access(file, os.X_OK)}
    for name in sorted(path.name for path in HERE.glob("LICENSE*")):
        files[f"{info}/{name}"] = (HERE / name).read_bytes()
    texts = {"METADATA": METADATA.format(version=version, contact=(HERE / "contact").read_text().strip(), readme=(HERE / "README.md").read_text()),
             "WHEEL": WHEEL.format(tag=what), "entry_points.txt": ENTRY_POINTS}
    files.update({f"{info}/{name}": text.encode() for name, text in texts.items()})
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()

    wheel = f"mpiaccel-{version}-{what}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)  # of 1980: the same files give the same wheel
            entry.external_attr = (0o100755 if name in programs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return wheel


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
