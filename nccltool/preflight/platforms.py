"""JUDGE which platform of checks/platforms the hosts are: pure, from their facts."""

from collections.abc import Sequence

from nccltool.hosts.facts import HostFacts, or_none
from nccltool.preflight.suite import Match, Platform


def fitting(known: Sequence[Platform], hosts: Sequence[HostFacts]) -> Platform | None:
    """The platform that fits every host, the one that says most about it; None = none does."""
    fits = [one for one in known if hosts and all(_fits(one.match, host) for host in hosts)]
    return max(fits, key=lambda one: _says(one.match), default=None)


def _says(match: Match) -> int:
    return sum(bool(word) for word in (match.gpu, match.gpus is not None, match.provider, match.product))


def _fits(match: Match, host: HostFacts) -> bool:
    """A fact that is not known fits nothing."""
    gpus = or_none(host.nvidia.gpus)
    if match.gpu and not (gpus and all(match.gpu in (or_none(gpu.name) or "") for gpu in gpus)):
        return False
    if match.gpus is not None and or_none(host.nvidia.visible_gpus) != match.gpus:
        return False
    if match.provider and or_none(host.cloud.provider) != match.provider:
        return False
    return not match.product or (or_none(host.cloud.product_name) or "").startswith(match.product)
