# For the folder packages/mpiaccel of a Spack repository. Built with Spack 0.23 and the compiler, Open MPI and
# Python of Debian 12. Spack takes the tarball of `make dist VERSION=0.3.0`, which contains the source of jemalloc, from the
# working folder: spack install --no-checksum mpiaccel
import os

from spack.package import conflicts, depends_on, license, version

try:
    from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
except ImportError:  # before Spack 1.0
    from spack.package import AutotoolsPackage


class Mpiaccel(AutotoolsPackage):
    """Preloadable library that makes one-sided calls and collectives of MPI programs faster on a node, without
    recompiling them. Sends of 4 to 32 KiB gain, too; shorter ones, and communication between nodes, do not."""

    url = f"file://{os.getcwd()}/libmpiaccel-0.3.0.tar.gz"

    license("BSD-3-Clause AND BSD-2-Clause")

    version("0.3.0")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("bzip2", type="build")
    depends_on("mpi")
    depends_on("python@3.8:", type="run")
    conflicts("platform=darwin")
    conflicts("platform=windows")

    def configure_args(self):
        return [f"--with-mpicc={self.spec['mpi'].mpicc}"]
