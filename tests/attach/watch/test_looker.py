"""How a watched job is looked at."""

import pytest

from nccltool.attach.options import AttachOptions
from nccltool.attach.watch.looker import HostsLooker
from nccltool.core.errors import NotJudged


@pytest.mark.parametrize("options", [AttachOptions(program="no-such-script.py")])
def test_nothing_runs_here(options: AttachOptions) -> None:
    looker = HostsLooker(options)
    for look in (looker.pulse, lambda: looker.look(2)):
        with pytest.raises(NotJudged, match=r"runs no-such-script\.py was found here"):
            look()
    looker.end()


def test_other_hosts_stay_connected() -> None:
    looker = HostsLooker(AttachOptions(hosts="n1", ssh="false"))
    with pytest.raises(NotJudged, match="n1: exit code 1"):
        looker.pulse()
    looker.end()
