"""A real sshd on hosts of a laboratory, with keys of their own, and an ssh that knows all of them."""

import os
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

from tests.lab.lab import Host, Lab
from tests.support.commands import MARK, until

TOOLS = ("sshd", "ssh", "ssh-keygen")
_SERVER = """\
Port 22
HostKey {folder}/{host}
AuthorizedKeysFile {folder}/user.pub
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM {pam}
StrictModes no
UseDNS no
PrintMotd no
PrintLastLog no
LogLevel VERBOSE
MaxStartups 100
AcceptEnv {mark}
SetEnv OMP_NUM_THREADS=1 SHLVL=1{more}
"""
"""The variable that marks a test's processes crosses, so that what a command leaves elsewhere is found too. With
SHLVL, bash leaves out ~/.bashrc: one that locks something lets no login through after a killed one."""
_CLIENT = """\
Host *
  User root
  IdentityFile {folder}/user
  IdentityAgent none
  IdentitiesOnly yes
  StrictHostKeyChecking yes
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile /dev/null
  SendEnv {mark}
"""


def missing() -> str:
    """Why there can be no sshd here; empty when there can."""
    lacking = [tool for tool in TOOLS if _path(tool) is None]
    return f"needs {', '.join(lacking)}: apt-get install openssh-server openssh-client" if lacking else ""


def _path(tool: str) -> str | None:
    return shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


class Sshd:
    """An sshd on each host, as long as this context lasts."""

    def __init__(self, lab: Lab, folder: Path, temporary: Path | None = None) -> None:
        """`temporary`: where logins put temporary files, if not in /tmp."""
        self.lab, self.folder, self._temporary = lab, folder, temporary
        self.config = folder / "ssh_config"
        self.known_hosts = folder / "known_hosts"
        self.ssh = ("ssh", "-F", str(self.config))
        """Put before a host's name."""
        self._servers: dict[str, subprocess.Popen[bytes]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> "Sshd":
        self.folder.mkdir(parents=True, exist_ok=True)
        _key(self.folder / "user")
        self.config.write_text(_CLIENT.format(folder=self.folder, mark=MARK))
        for host in self.lab.hosts:
            _key(self.folder / host.name)
        self.known_hosts.write_text("".join(self.known(host) for host in self.lab.hosts))
        Path("/run/sshd").mkdir(exist_ok=True)  # where its children without privileges live
        for host in self.lab.hosts:
            self.start(host)
        return self

    def __exit__(self, *_: object) -> None:
        for host in self.lab.hosts:
            self.stop(host)
        self._stack.close()

    def known(self, host: Host) -> str:
        """A line of known_hosts."""
        kind, key, *_ = (self.folder / f"{host.name}.pub").read_text().split()
        return f"{host.name},{host.address} {kind} {key}\n"

    def start(self, host: Host, *options: str) -> None:
        """Start the sshd of a host, with -o options; returns when it listens."""
        config = self.folder / f"sshd_config-{host.name}"
        more = f" TMPDIR={self._temporary}" if self._temporary else ""
        settings = {"folder": self.folder, "host": host.name, "mark": MARK, "pam": _pam(), "more": more}
        config.write_text(_SERVER.format(**settings))
        log = self.folder / f"log-{host.name}"
        server = _path("sshd")
        assert server is not None
        given = [word for option in options for word in ("-o", option)]
        argv = [*host.inside, server, "-D", "-e", "-f", str(config), *given]
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._stack.enter_context(log.open("wb")),
            start_new_session=True,
        )
        self._servers[host.name] = process
        host.services.add(process.pid)
        assert until(lambda: "Server listening on" in log.read_text(), 20.0), log.read_text()

    def stop(self, host: Host) -> None:
        """End the sshd of a host; its sessions stay."""
        process = self._servers.pop(host.name, None)
        if process is not None:
            process.kill()
            process.wait()
            host.services.discard(process.pid)

    def log(self, host: Host) -> str:
        """What the sshd of a host said."""
        return (self.folder / f"log-{host.name}").read_text()


def _key(file: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(file)], check=True)


def _pam() -> str:
    """sshd itself refuses an account whose password is locked; PAM lets it in with a key."""
    line = next(line for line in Path("/etc/shadow").read_text().splitlines() if line.startswith("root:"))
    return "yes" if line.split(":")[1].startswith("!") else "no"
