"""Settings that trigger a bug in a specific NCCL release."""

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_text, known, rule, shortened
from nccltool.hosts.nccl.settings import CONF_FILE


@for_text("BUG001", "warning", "NCCL_COMM_ID", covers=())
def comm_id_chooses_wrongly(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_COMM_ID is set, and this NCCL release chooses an interface outside the subnet of that address.

    Why: Releases 2.29.2 to 2.29.7 invert the comparison of IPv4 subnets: they take the first interface outside the
    address's subnet, usually lo, and ranks on other hosts cannot connect.
    Example: NCCL_COMM_ID=10.0.0.1:29500 with NCCL 2.29.7
    Instead: unset NCCL_COMM_ID or use a different NCCL release
    Source: NCCL src/os/linux.cc (matchSubnet); confirmed by running the library
    """
    if host.nccl_is(since=(2, 29, 2), before=(2, 30, 3)):
        message = f"NCCL {host.nccl} chooses the first IPv4 interface outside the subnet of this address"
        yield report.better_unset(variable, message, "unset NCCL_COMM_ID or use NCCL 2.30.3 or newer")


@rule("BUG002", "error", covers=())
def long_name_overwrites_memory(host: JudgedHost) -> Results:
    """A configuration file contains a variable name longer than 1023 characters.

    Why: Releases before 2.23.4 write past the end of a buffer, which changes NCCL variables or crashes NCCL.
    Example: an unrelated file saved as /etc/nccl.conf
    Instead: write lines of the form NAME=value
    Source: NCCL src/misc/param.cc (setEnvFile); confirmed by running the library
    """
    for file, line in host.settings.lines():
        if len(line.name.encode(errors="replace")) >= 1023 and known(host.nccl) < CONF_FILE:
            message = f"NCCL {host.nccl} writes past the end of its buffer when it reads this line"
            remedy = f"remove line {line.number} of {escaped(file.path)}"
            lines = (f"{escaped(file.path)}:{line.number}: {escaped(shortened(line.text, 80))}",)
            yield report.file(file.path, message, remedy, evidence=lines)
