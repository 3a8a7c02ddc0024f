"""nccltool export, as words on a command line."""

import pytest

from tests.conftest import Nccltool


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cluster", ""), "--cluster '' is not a cluster name"),
        (("--textfile", "x.prom", "--cluster", "a\nb"), "--cluster 'a\\nb' is not a cluster name"),
        (("--pushgateway", "http://h:1", "--group", "cluster=a", "--cluster", "b"), "name a cluster both"),
        (("--group", "instance=a"), "--group needs --pushgateway"),
        (("--push-user", "sre"), "--push-user needs --pushgateway"),
        (("--push-key", "key.pem"), "--push-key needs --pushgateway"),
        (("--textfile", "x.prom", "--output", "y"), "--output has no effect with"),
        (("--textfile", "x.prom", "--format", "openmetrics"), "--format has no effect with"),
        (("--textfile", "x.txt"), "unknown run"),
        (("--pushgateway", "http://h:1", "--push-key", "key.pem"), "--push-key key.pem needs a certificate"),
        (("--pushgateway", "http://h:1", "--push-password-file", "f"), "needs --push-user"),
    ],
)
def test_words_of_export_that_would_not_be_used(words: tuple[str, ...], message: str, nccltool: Nccltool) -> None:
    said = nccltool("export", "nosuch", *words)
    assert (said.code, said.out, message in said.err) == (2, "", True)


def test_nothing_of_an_error_acts_on_a_terminal(nccltool: Nccltool) -> None:
    of_gateway = ("--pushgateway", "http://h:1", "--push-user", "sre")
    said = nccltool("export", "nosuch", *of_gateway, "--push-password-file", "\x1b[31m")
    assert (said.code, "\\x1b[31m cannot be read" in said.err, "\x1b" in said.err) == (2, True, False)
