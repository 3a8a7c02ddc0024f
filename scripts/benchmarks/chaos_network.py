"""What the chaos bench does to the network of a host in a laboratory, and how that ends."""

import contextlib
import subprocess

from benchmarks.chaos_trials import Act, Trial
from tests.lab.lab import Host, Lab

_TABLE = ("table", "inet", "chaos")
_LARGE = 1000
"""Bytes: packets of ssh and of rows of 1 KiB are smaller or larger, as on a path with a small MTU."""
_LOSS_PERCENT = 5
_RATE = "10mbit"
_IN, _OUT = 'input iifname "eth0"', 'output oifname "eth0"'
# nft merges `tcp sport != 22 tcp dport != 22` into one comparison of both, which ssh passes too
_NOT_SSH = tuple(f"{way} tcp {port} 22 accept" for way in (_IN, _OUT) for port in ("sport", "dport"))


def disturb(lab: Lab, trial: Trial) -> None:
    """Do it to the host of the trial's node."""
    host = lab.hosts[trial.node]
    match trial.act:
        case Act.DROP:
            _rules(host, f"{_IN} drop", f"{_OUT} drop")
        case Act.DROP_DATA:
            _rules(host, *_NOT_SSH, f"{_IN} meta l4proto tcp drop", f"{_OUT} meta l4proto tcp drop")
        case Act.ONE_WAY:
            _rules(host, *_NOT_SSH, f"{_OUT} ip daddr {lab.hosts[trial.peer].address} drop")
        case Act.RESET:
            _rules(host, *_NOT_SSH, f"{_IN} meta l4proto tcp reject with tcp reset")
        case Act.LOSS:
            lost = f"numgen random mod 100 < {_LOSS_PERCENT} drop"
            _rules(host, f"{_IN} {lost}", f"{_OUT} {lost}")
        case Act.MTU:
            _rules(host, f"{_IN} meta length > {_LARGE} drop", f"{_OUT} meta length > {_LARGE} drop")
        case Act.SHAPE:
            host.run("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", _RATE, *_SHORT_QUEUE)
            lab.shape(host, _RATE)
        case Act.LINK_DOWN | Act.FLAP:
            host.link("down")


_SHORT_QUEUE = ("burst", "16kb", "latency", "5ms")


def _rules(host: Host, *rules: str) -> None:
    host.run("nft", "add", *_TABLE)
    for hook in ("input", "output"):
        host.run("nft", "add", "chain", *_TABLE[1:], hook, f"{{ type filter hook {hook} priority 0; }}")
    for rule in rules:
        host.run("nft", "add", "rule", *_TABLE[1:], rule)


def restore(lab: Lab, trial: Trial) -> None:
    """As it was before."""
    host = lab.hosts[trial.node]
    host.link("up")
    on_switch = ("ip", "netns", "exec", lab.switch, "tc", "qdisc", "del", "dev", f"p-{host.name}", "root")
    for argv in (
        (*host.inside, "nft", "delete", *_TABLE),
        (*host.inside, "tc", "qdisc", "del", "dev", "eth0", "root"),
        on_switch,
    ):
        with contextlib.suppress(subprocess.CalledProcessError):  # most trials did something else
            subprocess.run(argv, check=True, capture_output=True, timeout=30)
