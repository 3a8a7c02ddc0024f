"""What boxed messages of mpirun and Open MPI mean, line by line as they are wrapped."""

import pytest

from nccltool.triage.logs import mpi, prefixes


@pytest.mark.parametrize(
    ("text", "kind", "fields"),
    [
        ("mpirun was unable to launch the specified application as it could not", "app.launch", {}),
        ("A request was made to bind that would require binding", "app.launch", {}),
        ("Error: system limit exceeded on number of files that can be open", "limits.files", {}),
        ("No usable network interfaces were found on this host, so", "net.no-interface", {}),
        ("WARNING: Open MPI failed to handshake with a connecting peer MPI", "net.no-answer", {}),
        (
            "Open MPI failed an OFI Libfabric library call (fi_domain).  This is",
            "plugin.ofi-failed",
            {"call": "fi_domain"},
        ),
        (
            "WARNING: An invalid value was given for the btl_tcp_port_min_v4.",
            "env.refused",
            {"name": "btl_tcp_port_min_v4"},
        ),
        ("The function MPI_FINALIZE was invoked before MPI was initialized in", "mpi.bad-call", {}),
        ("means the GPU RDMA protocol cannot be used.", "gdr.failed", {}),
    ],
)
def test_what_a_line_means(text: str, kind: str, fields: dict[str, str]) -> None:
    (found,) = mpi.PATTERNS.events(prefixes.line("a.log", 1, text))
    assert (found.kind, dict(found.fields)) == (kind, fields)


@pytest.mark.parametrize(
    "text",
    [
        "WARNING: a request was made to bind a process. While the system",
        "this shared-memory backing file is on a local disk",
        "every rank was handed a rankfile",
    ],
)
def test_what_means_nothing(text: str) -> None:
    assert not list(mpi.PATTERNS.events(prefixes.line("a.log", 1, text)))
