"""The options of every command that starts something: where, by whom, and how long it may take."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class StartOptions:
    """As they were given; a field has the name of its option, and a command need not have all of them."""

    nodes: int | None = None
    nproc_per_node: str | None = None
    """A number, or auto."""
    node_rank: int | None = None
    rdzv_endpoint: str | None = None
    rdzv_secret_file: str | None = None
    launcher: str = "auto"
    hosts: str | None = None
    hostfile: str | None = None
    ssh: str = "ssh"
    remote_python: str | None = None
    remote_env: str | None = None
    keep_going: bool = False
    backend: str = "auto"
    timeout: float = 30.0
    join_timeout: float = 120.0
    deadline: float = 3600.0
    fault: str = ""
    """What the variable NCCLTOOL_FAULT asks for (nccltool.launch.fault_injection)."""

    @property
    def has_hosts(self) -> bool:
        """Whether hosts are named."""
        return self.hosts is not None or self.hostfile is not None
