"""One rail at a time: the variables that keep a library on one interface or adapter. Pure."""

from nccltool.core.errors import BadInput


def parsed(text: str) -> tuple[str, ...]:
    """The rails of `--rails eth0,eth1`. Raises BadInput."""
    names = tuple(name.strip() for name in text.split(","))
    hint = "name interfaces or adapters as they are called on the hosts: --rails eth0,eth1"
    if not all(names):
        raise BadInput(f"--rails {text}: a name is empty", hint)
    for name in names:
        if any(letter.isspace() or letter in "=^:/" for letter in name):
            raise BadInput(f"--rails {text}: {name!r} is not the name of an interface", hint)
        if names.count(name) > 1:
            raise BadInput(f"--rails {text}: {name} is there twice", "name each rail once")
    return names


def variables(rail: str, backend: str, is_adapter: bool) -> dict[str, str]:
    """What the library must find when it starts; `is_adapter`: an RDMA adapter of this host has this name."""
    if backend == "gloo":
        return {"GLOO_SOCKET_IFNAME": rail}
    if is_adapter:
        return {"NCCL_IB_HCA": f"={rail}"}
    return {"NCCL_SOCKET_IFNAME": f"={rail}", "NCCL_NET": "Socket"}
