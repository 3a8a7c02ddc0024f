"""From a fault to somebody's phone: real Prometheus, Alertmanager, push gateway and node_exporter."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import bcrypt
import pytest

from tests.docs.pages import ROOT
from tests.lab import monitoring
from tests.lab.monitoring import LIMIT_S, Authority, Stack, query
from tests.support.commands import Command, until

pytestmark = pytest.mark.lab
NCCLTOOL = [sys.executable, "-m", "nccltool"]
PROBE = [*NCCLTOOL, "probe", "--nodes", "2", "--op", "all_reduce", "--sizes", "1KiB", "-n", "5", "-w", "1"]


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    if reason := monitoring.missing():
        pytest.skip(reason)
    with Stack(tmp_path) as parts:
        yield parts


@pytest.fixture(scope="module")
def failed_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory with a run in which rank 1 received wrong data."""
    folder = tmp_path_factory.mktemp("probe")
    with Command(PROBE, folder, {"NCCLTOOL_FAULT": "corrupt:rank=1"}) as command:
        assert command.wait(LIMIT_S).code == 1
    return folder / "runs"


def nccltool(*words: str) -> None:
    done = subprocess.run([*NCCLTOOL, *words], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.torch
def test_from_a_fault_to_the_alert(stack: Stack, failed_run: Path, tmp_path: Path) -> None:
    textfiles = tmp_path / "textfiles"
    textfiles.mkdir()
    serve_port, push_port, node_port = (
        monitoring.free_port(),
        stack.pushgateway(),
        stack.node_exporter(textfiles),
    )
    nccltool("export", "latest", "--run-dir", str(failed_run), "--textfile", str(textfiles / "nccltool.prom"))
    push = ["--pushgateway", f"http://127.0.0.1:{push_port}", "--group", "instance=alpha"]
    nccltool("export", "latest", "--run-dir", str(failed_run), *push)
    serve = [*NCCLTOOL, "serve", "--listen", f"127.0.0.1:{serve_port}", "--run-dir", str(failed_run)]
    webhook = stack.webhook()
    with Command(serve, tmp_path / "serve") as server:
        targets = {"serve": serve_port, "push": push_port, "node": node_port}
        rules = ROOT / "docs/monitoring/alerts.yml"
        prometheus = stack.prometheus(targets, rules, stack.alertmanager(webhook))
        metric = 'nccltool_wrong_elements_total{op="all_reduce"} > 0'
        arrived = until(lambda: len(query(prometheus, metric)) == len(targets), LIMIT_S)
        assert arrived, (query(prometheus, metric), query(prometheus, "up"))
        assert until(lambda: "NccltoolWrongData" in {a["labels"]["alertname"] for a in webhook.alerts}, LIMIT_S)
        server.send(signal.SIGTERM)
        assert server.wait(LIMIT_S).code == 0
    [alert] = [a for a in webhook.alerts if a["labels"]["alertname"] == "NccltoolWrongData"][:1]
    assert alert["annotations"]["summary"] == "Wrong data in all_reduce"
    page = alert["annotations"]["runbook_url"].rstrip("/").rsplit("/", 1)[1]
    assert (ROOT / f"docs/runbooks/alerts/{page}.md").is_file()
    assert [row["value"][1] for row in query(prometheus, "node_textfile_scrape_error")] in (["0"], [])


@pytest.mark.torch
def test_promtool_finds_nothing_to_say_about_the_metrics_of_a_run(stack: Stack, failed_run: Path) -> None:
    argv = [*NCCLTOOL, "export", "latest", "--run-dir", str(failed_run)]
    text = subprocess.run(argv, capture_output=True, timeout=LIMIT_S, check=True).stdout
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def curl(port: int, *words: str, scheme: str = "https") -> str:
    """The status that a server on this host answers; 000 = it refused the connection."""
    argv = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "20", *words]
    done = subprocess.run(
        [*argv, f"{scheme}://127.0.0.1:{port}/metrics"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (done.returncode == 0) is (done.stdout != "000"), (done.returncode, done.stdout, done.stderr)
    return done.stdout


def curls(port: int, ca: Path, certificates: dict[str, tuple[Path, Path]]) -> dict[str, str]:
    """What each kind of caller gets."""
    secured = ("--cacert", str(ca))
    right, wrong = (
        (*secured, "--cert", str(cert), "--key", str(key))
        for cert, key in (certificates["right"], certificates["wrong"])
    )
    user = ("-u", "sre:geheim")
    return {
        "right": curl(port, *right, *user),
        "wrong password": curl(port, *right, "-u", "sre:falsch"),
        "no user": curl(port, *right),
        "wrong certificate": curl(port, *wrong, *user),
        "no certificate": curl(port, *secured, *user),
        "an authority that is not the server's": curl(
            port, *right, *user, "--cacert", str(certificates["wrong"][0])
        ),
        "no TLS": curl(port, *user, scheme="http"),
    }


def scrapes(port: int, ca: Path, certificates: dict[str, tuple[Path, Path]]) -> Iterator[str]:
    """The jobs of a Prometheus: the right one, and each without one thing that it needs."""
    (cert, key), (other, its_key) = certificates["right"], certificates["wrong"]
    ours, theirs = (f"cert_file: {c}, key_file: {k}" for c, k in ((cert, key), (other, its_key)))
    for name, client, password in (
        ("right", f"{ours}, ca_file: {ca}", "geheim"),
        ("wrong-password", f"{ours}, ca_file: {ca}", "falsch"),
        ("wrong-certificate", f"{theirs}, ca_file: {ca}", "geheim"),
        ("no-certificate", f"ca_file: {ca}", "geheim"),
        ("unknown-server", ours, "geheim"),
    ):
        yield (
            f"{{job_name: {name}, scheme: https, basic_auth: {{username: sre, password: {password}}}, "
            f'tls_config: {{{client}}}, static_configs: [{{targets: ["127.0.0.1:{port}"]}}]}}'
        )


@pytest.mark.slow
def test_only_who_has_certificate_and_password_reads_the_metrics(stack: Stack, tmp_path: Path) -> None:
    ours, theirs = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    certificate, key = ours.sign("server")
    certificates = {"right": ours.sign("client"), "wrong": theirs.sign("client")}
    hashed = bcrypt.hashpw(b"geheim", bcrypt.gensalt(4)).decode()
    web = tmp_path / "web.yml"
    web.write_text(
        f"tls_server_config: {{cert_file: {certificate.name}, key_file: {key.name}, client_ca_file: ours.pem,\n"
        f"  client_auth_type: RequireAndVerifyClientCert}}\nbasic_auth_users: {{sre: {hashed!r}}}\n"
    )
    port = monitoring.free_port()
    serve = [*NCCLTOOL, "serve", "--listen", f"127.0.0.1:{port}", "--web-config", str(web)]
    with Command(serve, tmp_path / "serve") as server:
        assert until(lambda: curls(port, ours.file, certificates)["right"] == "200", LIMIT_S)
        refused = dict.fromkeys(("wrong certificate", "no certificate", "no TLS"), "000")
        refused |= dict.fromkeys(("wrong password", "no user"), "401")
        refused["an authority that is not the server's"] = "000"
        assert curls(port, ours.file, certificates) == {"right": "200", **refused}
        prometheus = stack.scraper(scrapes(port, ours.file, certificates))
        assert until(lambda: len(query(prometheus, "up")) == 5, LIMIT_S)
        up = {row["metric"]["job"]: row["value"][1] for row in query(prometheus, "up")}
        no = dict.fromkeys(("wrong-password", "wrong-certificate", "no-certificate", "unknown-server"), "0")
        assert up == {"right": "1", **no}
        server.send(signal.SIGTERM)
        ended = server.wait(LIMIT_S)
    assert ended.code == 0, ended.said
    assert "Traceback" not in ended.said
