"""How an MPI is named beside a figure that is compared with it."""


def name(host):
    """The MPI of statistics or of the benchmark: "MPICH 4.0.2, ch4:ucx"."""
    return ", ".join(filter(None, [f"{host['name']} {host['version']}".strip(), host.get("device")]))


def xpmem(exists):
    """XPMEM is the fastest way in which an MPI copies between processes. Its build decides whether it uses it."""
    return "the machine has XPMEM" if exists else "without XPMEM, which this machine does not have"
