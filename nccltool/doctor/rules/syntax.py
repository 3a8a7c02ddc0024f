"""Values that NCCL reads differently than intended: quotes, spaces, units, or words instead of numbers."""

import re
from collections import Counter
from collections.abc import Iterator

from nccltool.core.findings import Severity
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, for_text, rule
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.settings import Variable
from nccltool.hosts.nccl.variables import KnownVariable

_QUOTES = ("'", '"', "`", "\u2018", "\u2019", "\u201c", "\u201d")
_PAIRS = ("''", '""', "``", "\u2018\u2019", "\u201c\u201d", "\u2019\u2019", "\u201d\u201d")
_MOST_PAIRS = 3
_LONGEST_LIST = 4096
"""A longer list is no list that anybody wrote."""
_OURS = (
    *("NCCL_", "TORCH_NCCL_", "TORCH_FR_", "TORCH_GLOO", "OFI_NCCL_", "GLOO_", "UCX_", "FI_"),
    *("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
)
_OF_OTHERS = ("NVSHMEM_", "OMPI_MCA_", "VLLM_", "SGLANG_", "MC_", "MOONCAKE_", "RAY_")
"""A value may end with a quote there, as that of -o "..." does, but is not all in quotes."""
_NAME_LISTS = ("NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_OOB_NET_IFNAME", "GLOO_SOCKET_IFNAME")
_NETWORK = re.compile(r"[\^=]*[0-9a-fA-F.:]+/\d+", re.ASCII)
_FATAL_WORDS = (*_NAME_LISTS, "NCCL_NET", "NCCL_ALGO", "NCCL_PROTO")
"""A word that matches nothing here ends the job, or its RDMA."""
_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30}


def _is_quoted(value: str) -> bool:
    return value.startswith(_QUOTES) or value.endswith(_QUOTES)


def _numbers(host: JudgedHost) -> Iterator[tuple[Variable, KnownVariable, values.Integer]]:
    """The variables from which NCCL reads a number, with the number that it reads; not those in quotes."""
    for variable, entry in host.listed("NCCL_"):
        number = values.integer(variable.value)
        if entry.is_number and entry.status == "live" and number and not _is_quoted(variable.value):
            yield variable, entry, number


@rule("SYN009", "warning")
def quoted_value(host: JudgedHost) -> Results:
    """The value includes quotes.

    Why: A shell removes quotes; `docker --env-file`, Kubernetes manifests, and nccl.conf do not.
    NCCL reads a number in quotes as 0. A name in quotes matches nothing, and a quoted NCCL_DEBUG turns logging
    off.
    Example: NCCL_IB_HCA="mlx5_0"
    Instead: NCCL_IB_HCA=mlx5_0
    Source: NCCL src/misc/param.cc (nothing is unquoted; strtoll with base 0)
    """
    for variable in host.settings.beginning(*_OURS, *_OF_OTHERS):
        plain = _unquoted(variable.value)
        if _is_quoted(variable.value) and (plain is not None or variable.name.startswith(_OURS)):
            what = "quotes" if plain is not None else "an unpaired quote"
            message = f"{variable.name} has {what} in its value"
            forms = {file.form for file in host.env_files if file.path in variable.origin}
            why = next((why for form, why in _KEPT.items() if form in forms), "")
            remedy = f"remove the quotes where the variable is set{why}"
            severity: Severity | None = "error" if variable.name in _FATAL_WORDS else None
            fix = report.export(variable.name, plain) if plain else report.unset(variable)
            yield report.about(variable, message, remedy, fix=() if plain is None else fix, severity=severity)


_KEPT = {
    "docker": ": docker and podman keep them, systemd and a shell do not need them",
    "manifest": ": YAML has removed its own, and Kubernetes keeps these",
}
"""Form of a file of variables -> why quotes stay in a value."""


def _unquoted(value: str) -> str | None:
    """A value without the pairs of quotes around it; None where a quote is left: what is meant is not clear."""
    for _ in range(_MOST_PAIRS):
        if len(value) > 1 and value[0] + value[-1] in _PAIRS:
            value = value[1:-1].strip()
    return None if any(quote in value for quote in _QUOTES) else value


_ODD = re.compile("[\t\r\n\v\f\u00a0\u2010-\u2015\u2018-\u201f\u2212\ufeff]")


@rule("SYN010", "warning")
def blank_in_value(host: JudgedHost) -> Results:
    """A value begins or ends with a space or contains a tab, a carriage return, or a typographic dash or quote.

    Why: NCCL splits lists at commas and does not strip spaces: the interface " eth1" does not exist, and " Tree"
    in NCCL_ALGO makes initialization fail. Files with Windows line endings leave a carriage return at the end.
    Example: NCCL_SOCKET_IFNAME="eth0, eth1" in a shell
    Instead: NCCL_SOCKET_IFNAME=eth0,eth1
    Source: NCCL src/misc/utils.cc (parseStringList), src/graph/tuning.cc
    """
    for variable in host.settings.beginning(*_OURS):
        name, value = variable.name, variable.value
        if name == "NCCL_DEBUG_TIMESTAMP_FORMAT" or _is_quoted(value):  # a blank at its end is meant
            continue
        odd = _ODD.search(value)
        words = name in (*_NAME_LISTS, "NCCL_ALGO", "NCCL_PROTO")
        if odd or value != value.strip() or (words and re.search(r"\s", value)):
            better = _without_blanks(value) if words else value.strip()
            yield report.about(
                variable,
                f"{name} has {_called(odd[0]) if odd else 'a space'} in its value",
                "remove it; in files, `cat -A` shows such characters and dos2unix removes \\r",
                part=odd[0] if odd else "",
                evidence=(f"as programs see it: {value[:120]!a}",),
                severity="error" if words and _loses_names(name, value) else None,
                fix=report.export(name, better) if better else (),
            )


def _without_blanks(text: str) -> str:
    """A list without the blanks beside its separators; '' where one is between two words: that may be a comma."""
    if len(text) > _LONGEST_LIST:
        return ""
    plain = re.sub(r"\s*([,;:^=])\s*", r"\1", re.sub(r"\s#.*", "", text, flags=re.DOTALL)).strip()
    return "" if re.search(r"\s", plain) or any(quote in plain for quote in _QUOTES) else plain


def _loses_names(name: str, value: str) -> bool:
    """Whether what is read is unusable: of a list of interfaces, NCCL finds the first name unless it is odd."""
    return name not in _NAME_LISTS[::2] or value != value.lstrip("^= ") or "," not in value


def _called(letter: str) -> str:
    return {"\t": "a tab", "\r": "a carriage return", "\n": "a line break"}.get(letter, "a typographic character")


_MEANT = {
    **dict.fromkeys(("true", "yes", "on", "enable", "enabled", "y", "t"), "1"),
    **dict.fromkeys(("false", "no", "off", "disable", "disabled", "n", "f"), "0"),
}


@rule("SYN011", "warning")
def word_for_number(host: JudgedHost) -> Results:
    """NCCL expects a number, but the value is a word.

    Why: NCCL reads up to the first character that is not a digit: true, yes, on, and all become 0, so a switch
    meant to be on is off.
    Example: NCCL_COLLNET_ENABLE=true
    Instead: NCCL_COLLNET_ENABLE=1
    Source: NCCL src/misc/param.cc (strtoll)
    """
    for variable, _, number in _numbers(host):
        if not number.digits:
            message = f"NCCL reads {variable.name} as 0: its value is not a number"
            fix = _meant(variable)
            yield report.about(variable, message, "" if fix else "set a number", fix=fix)


def _meant(variable: Variable) -> tuple[report.Fix, ...]:
    meant = _MEANT.get(variable.value.strip().lower())
    return report.export(variable.name, meant) if meant else ()


@rule("SYN012", "error")
def number_with_unit(host: JudgedHost) -> Results:
    """Something follows the number in a value, such as a unit or a decimal point.

    Why: NCCL ignores the rest: NCCL_BUFFSIZE=4M means a buffer of 4 bytes.
    Example: NCCL_BUFFSIZE=4M
    Instead: NCCL_BUFFSIZE=4194304
    Source: NCCL src/misc/param.cc (strtoll)
    """
    for variable, _, number in _numbers(host):
        if not number.digits or not number.rest.strip() or (number.octal and number.rest[:1] in "89"):
            continue
        unit = re.fullmatch(r"([kmg])(i?b)?", number.rest.partition("#")[0].strip().lower())
        meant = number.value * _UNITS[unit[1]] if unit and number.value is not None else None
        message = f"NCCL reads {variable.name} as {number.value} and drops {number.rest[:20]!r}"
        is_comment = number.rest.lstrip().startswith("#")
        better = meant or (number.value if is_comment else None)
        fix = report.export(variable.name, str(better)) if better else ()
        remedy = "" if fix else "set a plain number in the unit that the NCCL user guide names"
        severity: Severity | None = None if meant else "info" if is_comment else "warning"
        yield report.about(variable, message, remedy, part=number.rest, fix=fix, severity=severity)


@rule("SYN013", "warning")
def octal_number(host: JudgedHost) -> Results:
    """A number begins with 0, so NCCL reads it as octal.

    Why: 010 is 8, and 08 is 0.
    Example: NCCL_IB_TIMEOUT=022
    Instead: NCCL_IB_TIMEOUT=22
    Source: NCCL src/misc/param.cc (strtoll with base 0)
    """
    for variable, _, number in _numbers(host):
        if number.octal and number.value != _decimal(variable.value):
            plain = variable.value.strip().lstrip("0") or "0"
            message = f"NCCL reads {variable.name} as {number.value}: a number that begins with 0 is octal"
            yield report.better_set(variable, plain, message, f"export {variable.name}={escaped(plain[:40])}")


def _decimal(text: str) -> int | None:
    digits = re.match(r"\s*([+-]?\d{1,30})", text, re.ASCII)
    return int(digits[1]) if digits else None


_OWN_RULE = re.compile(
    r"NCCL_(SOCKET_NTHREADS|NSOCKS_PERTHREAD|CROSS_NIC|IB_(TIMEOUT|RETRY_CNT|SL|TC|FIFO_TC|QPS_PER_CONNECTION|GID_INDEX"
    r"|PKEY|SUBNET_PREFIX_LEN)|(LL128_)?NTHREADS|(MIN|MAX)_(P2P_)?(NCHANNELS|CTAS)|CGA_CLUSTER_SIZE"
    r"|P2P_PER_CHANNEL_NET_BW|P2P_DISABLE|SHM_DISABLE)"
)
"""Variables whose values have a rule of their own."""


def _is_default(entry: KnownVariable, value: int | None) -> bool:
    """The default of some is a number out of the range, which stands for "automatic"."""
    return re.search(rf"(?<![\d-]){value}(?!\d)", entry.default) is not None


@rule("SYN014", "warning")
def number_out_of_range(host: JudgedHost) -> Results:
    """A number is outside its variable's range or does not fit in 64 bits.

    Why: NCCL clamps some of these, passes others to the driver unchanged, and uses its default for a number that
    does not fit. It reports none of this at level WARN.
    Example: NCCL_MNNVL_ENABLE=3
    Instead: set a value in the range that `nccltool explain NCCL_MNNVL_ENABLE` shows
    Source: NCCL user guide and the catalog of variables
    """
    for variable, entry, number in _numbers(host):
        if entry.type == "switch" or _OWN_RULE.fullmatch(variable.name) or not number.digits:
            continue
        low, high = entry.min, entry.max
        value = number.value
        inside = value is not None and (low is None or value >= low) and (high is None or value <= high)
        if not inside and not _is_default(entry, value):
            message = f"{variable.name} is {'too large to read' if value is None else 'out of range'}"
            accepted = _range(low, high)
            other = "set a value in this range" if accepted else "set a number that fits in 64 bits"
            remedy = f"{other} or unset it (default: {entry.default})"
            yield report.better_unset(variable, message, remedy, evidence=(accepted,) if accepted else ())


def _range(low: int | None, high: int | None) -> str:
    """In words; empty = the catalog knows no bound."""
    if low is not None and high is not None:
        return f"range {low} to {high}"
    if low is not None:
        return f"range from {low} on"
    return "" if high is None else f"range up to {high}"


@rule("SYN015", "info")
def odd_switch(host: JudgedHost) -> Results:
    """A switch has a value other than 0 or 1.

    Why: Most switches treat any other number as 1, but some do not. In newer releases, 2 has a special meaning for
    some switches.
    Example: NCCL_IB_DISABLE=2
    Instead: NCCL_IB_DISABLE=1
    Source: NCCL src/graph/paths.cc (ncclGetLevel), src/transport/shm.cc
    """
    for variable, entry, number in _numbers(host):
        if entry.type != "switch" or not number.digits or _OWN_RULE.fullmatch(variable.name):
            continue
        if number.value not in (0, 1) and not _is_default(entry, number.value):
            message = f"{variable.name} is a switch; {number.value} is neither 0 nor 1"
            yield report.about(variable, message, "set 0 or 1")


@rule("SYN016", "info")
def empty_value(host: JudgedHost) -> Results:
    """A variable is set to an empty value.

    Why: NCCL treats most empty values as unset, but they still hide a setting in nccl.conf; an empty NCCL_NET
    matches no network, and initialization fails.
    Example: NCCL_NET=
    Instead: unset NCCL_NET
    Source: NCCL src/plugin/net.cc, src/misc/param.cc
    """
    for variable, entry in host.listed("NCCL_"):
        meant = entry.name in ("NCCL_DEBUG_TIMESTAMP_FORMAT", "NCCL_DEBUG_TIMESTAMP_LEVELS")
        if variable.value == "" and not meant:
            fatal = entry.name == "NCCL_NET"
            more = ": it matches no network, and initialization fails" if fatal else ""
            message = f"{entry.name} is empty{more}"
            yield report.better_unset(variable, message, part="", severity="error" if fatal else None)


@rule("SYN017", "error")
def bad_torch_switch(host: JudgedHost) -> Results:
    """A torch switch has a value that torch does not accept.

    Why: torch raises an error when it creates the process group.
    Example: TORCH_NCCL_BLOCKING_WAIT=on
    Instead: TORCH_NCCL_BLOCKING_WAIT=1
    Source: pytorch c10d/Utils.hpp (getCvarBool: 1 t true y yes, 0 f false n no)
    """
    for variable, entry in host.listed("TORCH_", "NCCL_"):
        if entry.type == "torch boolean" and values.torch_bool(variable.value) is None:
            message = f"torch raises an error: {variable.name} is neither true nor false"
            yield report.about(variable, message, "set 0 or 1", fix=_meant(variable))


@rule("SYN018", "error")
def bad_torch_number(host: JudgedHost) -> Results:
    """torch expects a number, but the value is not one.

    Why: torch raises an error when it creates the process group.
    Example: TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=ten
    Instead: TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=600
    Source: pytorch c10d/Utils.hpp (getCvarInt)
    """
    for variable, entry in host.listed("TORCH_NCCL_", "TORCH_FR_", "NCCL_ASYNC_ERROR_HANDLING"):
        numeric = entry.type in ("integer", "bytes") and entry.component == "torch"
        if numeric and re.match(r"\s*[+-]?\d", variable.value, re.ASCII) is None:
            message = f"torch raises an error: {variable.name} is not a number"
            yield report.better_unset(variable, message, "set a number or unset it")


@for_text("SYN019", "error", *_NAME_LISTS)
def wildcard_in_names(_: JudgedHost, variable: Variable, text: str) -> Results:
    """A list of interfaces or adapters contains a wildcard or a regular expression.

    Why: NCCL supports only prefixes and exact names; eth* looks for an interface named eth*.
    Example: NCCL_SOCKET_IFNAME=eth*
    Instead: NCCL_SOCKET_IFNAME=eth
    Source: NCCL user guide, NCCL_SOCKET_IFNAME and NCCL_IB_HCA
    """
    if odd := re.search(r"[*?\[\]()|;$]", text):
        plain = re.sub(r"[*?$].*?(?=,|$)", "", text)
        simple = not re.search(r"[\[\]()|;]", text) and plain
        message = f"{variable.name} does not support wildcards: {odd[0]} is read as part of a name"
        remedy = "list name prefixes, separated by commas"
        fix = report.export(variable.name, plain) if simple else ()
        severity: Severity | None = "warning" if text.startswith("^") else None  # one name too few is excluded
        yield report.about(variable, message, remedy, part=odd[0], fix=fix, severity=severity)


@for_text("SYN020", "warning", *_NAME_LISTS[:2], "GLOO_SOCKET_IFNAME", "CUDA_VISIBLE_DEVICES")
def name_twice(_: JudgedHost, variable: Variable, text: str) -> Results:
    """A list contains the same name twice.

    Why: Usually the second entry is a typo, and the intended device is missing from the list.
    Example: NCCL_IB_HCA=mlx5_0,mlx5_1,mlx5_1
    Instead: NCCL_IB_HCA=mlx5_0,mlx5_1,mlx5_2
    Source: a cloud provider's published health check, which lists mlx5_1 twice and omits mlx5_12
    """
    twice = [word for word, times in Counter(values.split(text.lstrip("^="))).items() if times > 1]
    if twice:
        message = f"{variable.name} names {escaped(twice[0][:60])} twice"
        remedy = "compare the list with the host's devices"
        once = ",".join(dict.fromkeys(text.split(",")))
        yield report.better_set(variable, once, message, remedy, part=twice[0])


_WORDS = {
    "NCCL_IB_ADDR_FAMILY": ("AF_INET", "AF_INET6"),
    "CUDA_DEVICE_ORDER": ("FASTEST_FIRST", "PCI_BUS_ID"),
    "FI_CXI_RX_MATCH_MODE": ("hardware", "software", "hybrid"),
    "FI_CXI_RDZV_PROTO": ("default", "alt_read"),
    "FI_MR_CACHE_MONITOR": ("userfaultfd", "memhooks", "kdreg2", "disabled", "cuda", "rocr", "ze"),
    "GLOO_DEVICE_TRANSPORT": ("TCP", "TCP_TLS", "UV"),
}
"""All that these variables may be."""


@for_text("SYN021", "warning", *_WORDS, covers=())
def unknown_word(_: JudgedHost, variable: Variable, text: str) -> Results:
    """A variable that has a fixed set of words has another one.

    Why: All but Gloo ignore the word and use their default, at most with a line in a log; Gloo fails.
    Example: FI_MR_CACHE_MONITOR=memhook
    Instead: FI_MR_CACHE_MONITOR=memhooks
    Source: NCCL src/transport/net_ib; CUDA programming guide; libfabric, fi_cxi(7) and fi_mr(3); pytorch
    GlooDeviceFactory.cpp
    """
    words = _WORDS[variable.name]
    if text not in words:
        meant = next((word for word in words if word.lower() == text.lower()), None)
        fix = report.export(variable.name, meant) if meant else report.unset(variable)
        severity: Severity | None = "error" if variable.name == "GLOO_DEVICE_TRANSPORT" else None
        message = f"expected one of {', '.join(words)}"
        yield report.about(variable, message, "", fix, severity=severity)


@for_text("SYN022", "warning", *_NAME_LISTS, covers=())
def path_in_names(_: JudgedHost, variable: Variable, text: str) -> Results:
    """A list of interfaces or adapters contains a path.

    Why: Names of devices have no slash, so the entry matches none. If no other entry matches, NCCL finds no
    adapter and uses TCP, or it finds no interface and fails.
    Example: NCCL_IB_HCA=/dev/infiniband/uverbs0
    Instead: NCCL_IB_HCA=mlx5_0
    Source: NCCL user guide, NCCL_IB_HCA and NCCL_SOCKET_IFNAME
    """
    paths = [word for word in values.split(text) if "/" in word and _NETWORK.fullmatch(word) is None]
    if paths:
        remedy = "list names as `ibv_devices` or `ip link` shows them"
        yield report.about(variable, "no device has a slash in its name", remedy, part=paths[0])
