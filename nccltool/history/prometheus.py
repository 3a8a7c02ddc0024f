"""Runs that a Prometheus has seen, from the metrics of `nccltool export` and `serve`.

Only what is certainly of a run counts. A server shows the newest of each subject side by side, so hosts count if
they are as many as the preflight expected, and rows if they were measured when the run started.
"""

import base64
import hashlib
import json
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import IO, Any, get_args
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import msgspec

from nccltool.core.errors import BadInput, DidNotComplete
from nccltool.core.text import shortened
from nccltool.core.units import format_bytes
from nccltool.core.verdicts import Status
from nccltool.history.records import ALL_HOSTS, MeasuredValue, RunRecord, RunVersions, Series, Visit, VisitStatus

_STARTED = "nccltool_last_run_timestamp_seconds"
_METRICS = (
    *("host_status", "expected_hosts", "bus_bandwidth_bytes_per_second", "measurement_timestamp_seconds"),
    *("build_info", "last_run_status"),
)
_STATUSES = ("pass", "warn", "fail", "unknown", "skip", "incomplete", "missing", "undetermined")
"""As numbers in metrics (nccltool.monitor.metrics)."""
_KINDS = ("probe", "train", "preflight", "pairs")
_MOST_POINTS = 10_000
"""Of a series in one answer: Prometheus refuses more than 11,000."""
_FINEST_S = 60.0
_ONE_ANSWER_S = 15.0
_ALL_S = 120.0
_MOST_BYTES = 64 * 2**20
_CHUNK = 2**16


@dataclass(frozen=True, kw_only=True, slots=True)
class PrometheusServer:
    """Where to ask, and how to get in."""

    url: str
    user: str | None = None
    password: str = ""
    ca_file: str | None = None


class _Series(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]] = []
    value: tuple[float, str] | None = None


class _Data(msgspec.Struct):
    result: list[_Series]


class _Answer(msgspec.Struct):
    data: _Data


@dataclass(frozen=True, slots=True)
class _SeenRun:
    command: str
    started: float
    seen: float
    """When it was scraped for the first time."""
    source: tuple[tuple[str, str], ...]
    """The labels of who exported it."""


class _NoRedirect(HTTPRedirectHandler):
    """Credentials go to nobody else."""

    def redirect_request(self, *words: Any, **named: Any) -> None:
        return None


def is_url(text: str) -> bool:
    """Whether it names a server and not a file."""
    return text.startswith(("http://", "https://"))


def records(server: PrometheusServer, since: float, now: float) -> Iterator[RunRecord]:
    """The runs that began since a Unix time, the oldest first. Raises BadInput, DidNotComplete."""
    asked = _Asked(server, time.monotonic() + _ALL_S)
    for run in _runs(asked, since, now):
        names = [f'__name__=~"nccltool_({"|".join(_METRICS)})"']
        names += [f"{label}={json.dumps(one)}" for label, one in run.source]
        yield _record(run, asked.query("query", query=f"{{{','.join(names)}}}", time=f"{run.seen}"), server.url)


def _runs(asked: "_Asked", since: float, now: float) -> Sequence[_SeenRun]:
    step = max(_FINEST_S, (now - since) / _MOST_POINTS)
    window = {"start": f"{since}", "end": f"{now}", "step": f"{step}"}
    found: dict[tuple[object, ...], _SeenRun] = {}
    for series in asked.query("query_range", query=_STARTED, **window):
        command = series.metric.get("command", "")
        source = tuple(sorted((k, v) for k, v in series.metric.items() if k not in ("__name__", "command")))
        for seen, text in series.values:
            started = _number(text)
            if command in _KINDS and started is not None and since <= started <= now:
                found.setdefault((command, started, source), _SeenRun(command, started, seen, source))
    return sorted(found.values(), key=lambda one: (one.started, one.command, one.source))


def _record(run: _SeenRun, found: Sequence[_Series], url: str) -> RunRecord:
    of = {name: [one for one in found if one.metric.get("__name__") == f"nccltool_{name}"] for name in _METRICS}
    name = hashlib.sha256(repr(run.source).encode()).hexdigest()[:8]
    return RunRecord(
        id=f"prometheus-{name}-{run.command}-{run.started:.0f}",
        started=run.started,
        kind=run.command,
        status=_status(of["last_run_status"], run.command),
        folder=url,
        versions=_versions(of["build_info"]),
        visits=tuple(_visits(of)) if run.command == "preflight" else (),
        values=tuple(_values(of, run)) if run.command == "probe" else (),
    )


def _status(found: Sequence[_Series], command: str) -> str:
    number = next((_value(one) for one in found if one.metric.get("command") == command), None)
    word = _word(number)
    return word if word in get_args(Status) else "unknown"


def _versions(found: Sequence[_Series]) -> RunVersions:
    labels = found[0].metric if len(found) == 1 else {}
    nccl = labels.get("nccl", "")
    return RunVersions(
        nccltool=f"nccltool {labels['version']}" if labels.get("version") else "",
        torch=labels.get("torch", ""),
        backend=f"nccl {nccl}" if nccl else "",
    )


def _visits(of: Mapping[str, Sequence[_Series]]) -> Iterator[Visit]:
    expected = [_value(one) for one in of["expected_hosts"]]
    if expected != [float(len(of["host_status"]))]:
        return  # hosts of older preflights are among them
    for one in of["host_status"]:
        host, word = one.metric.get("host", ""), _word(_value(one))
        if host and word in get_args(VisitStatus):
            status: VisitStatus = word  # type: ignore[assignment]
            yield Visit(host=host, status=status)


def _values(of: Mapping[str, Sequence[_Series]], run: _SeenRun) -> Iterator[MeasuredValue]:
    worlds = {
        _labels(one, "op", "nodes", "world_size")
        for one in of["measurement_timestamp_seconds"]
        if _value(one) == run.started
    }
    for one in of["bus_bandwidth_bytes_per_second"]:
        op, nodes, ranks, size, dtype, placement = _labels(
            one, "op", "nodes", "world_size", "bytes", "dtype", "placement"
        )
        rate = _value(one)
        if (op, nodes, ranks) in worlds and rate and size.isdecimal() and len(size) < 16:
            where = " ".join(f"{label}={value}" for label, value in run.source)
            detail = shortened(f"{dtype} {placement}, {ranks} ranks on {nodes} nodes, Prometheus {where}", 300)
            series = Series(name=f"{op} {format_bytes(int(size))}", detail=detail, unit="B/s", of=op)
            yield MeasuredValue(host=ALL_HOSTS, series=series, value=rate)


def _labels(one: _Series, *names: str) -> tuple[str, ...]:
    return tuple(one.metric.get(name, "") for name in names)


def _value(one: _Series) -> float | None:
    return None if one.value is None else _number(one.value[1])


def _number(text: str) -> float | None:
    """A finite number that is not negative."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _word(number: float | None) -> str:
    known = number is not None and number.is_integer() and number < len(_STATUSES)
    return _STATUSES[int(number)] if known and number is not None else ""


class _Asked:
    """Asks a server, until all time is used up."""

    def __init__(self, server: PrometheusServer, deadline: float) -> None:
        self._server, self._deadline = server, deadline
        try:
            context = ssl.create_default_context(cafile=server.ca_file)
        except OSError as error:
            raise BadInput(
                f"--prometheus-ca {server.ca_file} cannot be used: {error}", "name a PEM file"
            ) from error
        self._opener = build_opener(HTTPSHandler(context=context), _NoRedirect())
        parts = urlsplit(server.url)
        if not parts.hostname or parts.username is not None:
            raise BadInput(
                f"{shortened(server.url, 200)} is not the address of a Prometheus",
                "write http://HOST:9090, and a user as --prometheus-user",
            )

    def query(self, kind: str, **words: str) -> Sequence[_Series]:
        """What a query gives. Raises BadInput, DidNotComplete."""
        url = f"{self._server.url.rstrip('/')}/api/v1/{kind}?{urlencode(words)}"
        request = Request(url)  # noqa: S310 - is_url knows the scheme
        if self._server.user is not None:
            secret = base64.b64encode(f"{self._server.user}:{self._server.password}".encode()).decode()
            request.add_header("Authorization", f"Basic {secret}")
        try:
            with self._opener.open(request, timeout=_ONE_ANSWER_S) as answer:
                text = self._read(answer)
            return msgspec.json.decode(text, type=_Answer).data.result
        except HTTPError as error:
            raise self._refused(error) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadInput(
                f"{self._server.url} did not answer as a Prometheus does", "check the address"
            ) from error
        except (OSError, HTTPException, ValueError) as error:
            why = str(getattr(error, "reason", error)) or type(error).__name__
            raise self._failed(why) from error

    def _read(self, answer: IO[bytes]) -> bytes:
        text = bytearray()
        while part := answer.read(_CHUNK):
            text += part
            if len(text) > _MOST_BYTES:
                raise BadInput(
                    f"{self._server.url} answers with more than {_MOST_BYTES // 2**20} MiB", "use a later --since"
                )
            if time.monotonic() > self._deadline:
                raise self._failed(f"not done within {_ALL_S:g} s")
        return bytes(text)

    def _refused(self, error: HTTPError) -> BadInput | DidNotComplete:
        if error.code in (401, 403):
            return BadInput(
                f"{self._server.url} refused the credentials: HTTP {error.code}",
                "use --prometheus-user and --prometheus-password-file",
            )
        if error.code >= 500:
            return self._failed(f"HTTP {error.code}")
        return BadInput(
            f"{self._server.url} refused the query: HTTP {error.code}",
            "check that it is the address of a Prometheus",
        )

    def _failed(self, why: str) -> DidNotComplete:
        return DidNotComplete(
            f"{self._server.url} could not be asked: {shortened(why, 200)}",
            "check that it runs and can be reached",
        )
