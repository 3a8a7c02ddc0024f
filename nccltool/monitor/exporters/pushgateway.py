"""Prometheus' push gateway."""

import base64
import re
import ssl
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import ClassVar
from urllib.error import HTTPError, URLError
from urllib.request import HTTPSHandler, Request, build_opener

from prometheus_client import push_to_gateway

from nccltool.core import user_files
from nccltool.core.errors import BadInput
from nccltool.core.findings import Subject
from nccltool.monitor import exposition
from nccltool.monitor.exporters import AnyRun, TakeSamples
from nccltool.monitor.exporters.base import AFTER_VERDICT_S, PushFailed, check_url, in_time
from nccltool.monitor.metrics import CLUSTER, METRICS, Sample

FIRST_PAUSE_S = 0.5
ONE_TRY_S = 10.0
JOB = "nccltool"
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")

_AGAIN = "push the saved run later: nccltool export latest --pushgateway"
Headers = list[tuple[str, str]]
Handler = Callable[[str, str, float | None, Headers, bytes], Callable[[], None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Destination:
    """A gateway: where it is, under which labels to push, and how to get in."""

    EXAMPLE: ClassVar = "http://host:9091"
    url: str
    grouping: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    password: str = ""
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    timeout_s: float = 30.0
    """How long to go on trying."""
    cluster: str = ""
    """One more label of the group: another cluster's push must not replace this one."""
    has_options: bool = True
    """--push-timeout, --push-user, ... are options of the command."""

    @classmethod
    def of_text(cls, where: str, cluster: str) -> "Destination":
        """The gateway at an address. Raises BadInput."""
        made = cls(url=where, cluster=cluster, timeout_s=AFTER_VERDICT_S, has_options=False)
        made.check("use `nccltool export latest` with its options")
        return made

    def check(self, remedy: str = "use --push-user and --push-password-file") -> None:
        """Raises BadInput for an address that cannot be one, and for labels that would overwrite those of metrics.

        `remedy`: of a password in the address.
        """
        taken = {label for metric in METRICS for label in metric.labels} | {"job"}
        if self.cluster and CLUSTER in self.grouping:
            raise BadInput(f"--group {CLUSTER} and --cluster name a cluster both", "remove one of them")
        for name in self.grouping:
            if name in taken or not LABEL.fullmatch(name):
                why = (
                    "a label of the metrics, which it would overwrite"
                    if name in taken
                    else "not a valid label name"
                )
                raise BadInput(f"--group {name}: it is {why}", "use instance=HOST or cluster=NAME")
        check_url(self.url, "--pushgateway", "http://host:9091", remedy)
        if self.key_file and not self.cert_file:
            raise BadInput(f"--push-key {self.key_file} needs a certificate", "add --push-cert FILE")

    @property
    def subject(self) -> Subject:
        return Subject(kind="link", name=self.url)

    def hand_over(self, found: Sequence[AnyRun], samples: TakeSamples) -> str:
        """Push what each command found into a group of its own. Raises BadInput, PushFailed."""
        for command in dict.fromkeys(run.kind for run in found):
            self.push(samples(run for run in found if run.kind == command), command)
        return f"pushed to {self.url}"

    def push(self, samples: Iterable[Sample], command: str) -> None:
        """Replace all that the gateway has of this command in the group: no number of an earlier run stays.

        Raises PushFailed when time is up, or at once when it says that samples or credentials are wrong.
        """
        registry = exposition.registry(samples)
        grouping = {"command": command, **self.grouping} | ({CLUSTER: self.cluster} if self.cluster else {})
        deadline = time.monotonic() + self.timeout_s
        pause = FIRST_PAUSE_S
        handler = _handler(self)
        while True:
            left = deadline - time.monotonic()
            try:
                push_to_gateway(self.url, JOB, registry, grouping, min(ONE_TRY_S, max(left, 0.1)), handler)
            except HTTPError as error:
                if error.code < 500:
                    raise _refused(self, error) from error
                error.close()
                problem = f"HTTP {error.code}"
            except (URLError, HTTPException, OSError) as error:
                problem = str(getattr(error, "reason", error)).strip() or type(error).__name__
            else:
                return
            if deadline - time.monotonic() <= pause:
                raise PushFailed(
                    f"{self.url} did not accept the metrics within {self.timeout_s:g} s: {problem}",
                    f"check that the gateway is running{'' if self.has_options else ','} or {_longer(self)}",
                )
            time.sleep(pause)
            pause *= 2


def groups(texts: Iterable[str]) -> dict[str, str]:
    """More labels of the group, of --group NAME=VALUE. Raises BadInput."""
    pairs = {text: text.partition("=") for text in texts}
    for text, (_, _, value) in pairs.items():
        if not value:
            raise BadInput(f"--group {text}: a value is missing", "write --group instance=HOST")
    return {name: value for name, _, value in pairs.values()}


def password(file: str) -> str:
    """The one in a file. Raises BadInput."""
    option = "--push-password-file"
    try:
        return user_files.contents(file, option, remedy="check the name").decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"{option} {file} cannot be read: not a text file", "check the name") from error


def _refused(gateway: Destination, error: HTTPError) -> PushFailed:
    with error:
        said = error.read(300).decode(errors="replace").strip().splitlines()
    hint = _signed_in(gateway) if error.code in (401, 403) else "check the gateway's log"
    return PushFailed(
        f"{gateway.url} refused the metrics: HTTP {error.code} {said[0] if said else ''}".rstrip(), hint
    )


def _longer(gateway: Destination) -> str:
    return "raise --push-timeout" if gateway.has_options else f"{_AGAIN} {gateway.url} --push-timeout 300"


def _signed_in(gateway: Destination) -> str:
    words = "--push-user and --push-password-file"
    return f"check {words}" if gateway.has_options else f"{_AGAIN} {gateway.url} with {words}"


def _handler(gateway: Destination) -> Handler:
    """Sends a request over TLS as asked for, with the user's name where there is one."""
    opener = build_opener(HTTPSHandler(context=_context(gateway)))
    signed: Headers = []
    if gateway.user is not None:
        token = base64.b64encode(f"{gateway.user}:{gateway.password}".encode()).decode()
        signed = [("Authorization", f"Basic {token}")]

    def send(url: str, method: str, timeout: float | None, headers: Headers, data: bytes) -> Callable[[], None]:
        def request() -> None:
            asked = Request(url, data=data, method=method, headers=dict([*headers, *signed]))  # noqa: S310
            in_time(lambda: opener.open(asked, timeout=timeout).close(), timeout)

        return request

    return send


def _context(gateway: Destination) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=gateway.ca_file)
        if gateway.cert_file:
            context.load_cert_chain(gateway.cert_file, gateway.key_file)
    except (OSError, ssl.SSLError) as error:
        given = {"--push-ca": gateway.ca_file, "--push-cert": gateway.cert_file, "--push-key": gateway.key_file}
        names = ", ".join(f"{option} {file}" for option, file in given.items() if file)
        raise BadInput(f"{names} cannot be used: {error.strerror or error}", "name PEM files") from error
    return context
