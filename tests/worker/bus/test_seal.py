"""The handshake and the frames: what one end says the other takes, once, in its place, and nothing else."""

import hmac

import pytest

from nccltool.worker.bus import seal
from nccltool.worker.bus.seal import ClientSide, Purpose, RunSecret, Sealed, ServerSide, Unsealed

pytestmark = pytest.mark.quick

SECRET = RunSecret(b"of this run", "run")
OTHERS = [RunSecret(b"of another run", "run"), RunSecret(b"of this run", "another"), RunSecret(b"", "run")]


def ends(secret: RunSecret = SECRET, server: RunSecret = SECRET) -> tuple[Sealed, Sealed]:
    """The two ends of a connection."""
    side = ServerSide(server, b"store")
    client = ClientSide(secret, b"store", side.greeting())
    welcome, sealed = side.answer(client.proof())
    assert sealed is not None
    return client.welcomed(welcome), sealed


def taken(end: Sealed, frame: bytes) -> bytes:
    head, payload = frame[: seal.FRAME_HEAD], frame[seal.FRAME_HEAD :]
    assert seal.length_of(head) == len(payload)
    return end.opened(head, payload)


def test_both_directions_in_order() -> None:
    client, server = ends()
    for text in (b"one", b"", b"three" * 1000):
        assert taken(server, client.seal(text)) == text
        assert taken(client, server.seal(text)) == text


@pytest.mark.parametrize("other", OTHERS)
def test_a_client_with_another_secret(other: RunSecret) -> None:
    side = ServerSide(SECRET, b"store")
    assert side.answer(ClientSide(other, b"store", side.greeting()).proof()) == (seal.REFUSAL, None)


@pytest.mark.parametrize("other", OTHERS)
def test_a_server_with_another_secret(other: RunSecret) -> None:
    """It welcomes whoever comes."""
    side = ServerSide(other, b"store")
    client = ClientSide(SECRET, b"store", side.greeting())
    welcome, _ = side.answer(ClientSide(other, b"store", side.greeting()).proof())
    with pytest.raises(Unsealed, match="secret"):
        client.welcomed(welcome)


@pytest.mark.parametrize(("server", "client"), [(b"meeting", b"store"), (b"store", b"meeting")])
def test_a_server_for_another_purpose(server: Purpose, client: Purpose) -> None:
    side = ServerSide(SECRET, server)
    caller = ClientSide(SECRET, client, side.greeting())
    welcome, _ = side.answer(caller.proof())
    with pytest.raises(Unsealed):
        caller.welcomed(welcome)


@pytest.mark.parametrize("greeting", [b"", b"SSH-2.0-OpenSSH_9.2\r\n".ljust(seal.GREETING_BYTES), seal.GREETING])
def test_another_program_answers(greeting: bytes) -> None:
    with pytest.raises(Unsealed, match="another program"):
        ClientSide(SECRET, b"store", greeting)


def test_a_proof_is_good_for_one_connection() -> None:
    side = ServerSide(SECRET, b"store")
    proof = ClientSide(SECRET, b"store", side.greeting()).proof()
    assert side.answer(proof)[1] is not None
    assert ServerSide(SECRET, b"store").answer(proof) == (seal.REFUSAL, None)


@pytest.mark.parametrize("at", [0, 31, 32, seal.PROOF_BYTES - 1])
def test_a_proof_with_a_bit_changed(at: int) -> None:
    side = ServerSide(SECRET, b"store")
    proof = bytearray(ClientSide(SECRET, b"store", side.greeting()).proof())
    proof[at] ^= 1
    assert side.answer(bytes(proof)) == (seal.REFUSAL, None)


def test_a_frame_again_out_of_order_changed_or_sent_back() -> None:
    client, server = ends()
    first, second = client.seal(b"add 1"), client.seal(b"add 2")
    changed = first[:-1] + bytes([first[-1] ^ 1])
    for frame in (second, changed, server.seal(b"add 1")):
        with pytest.raises(Unsealed):
            taken(server, frame)
    assert taken(server, first) == b"add 1"
    with pytest.raises(Unsealed):
        taken(server, first)
    assert taken(server, second) == b"add 2"


def test_a_frame_of_another_connection() -> None:
    (client, _), (_, server) = ends(), ends()
    with pytest.raises(Unsealed):
        taken(server, client.seal(b"add 1"))


def test_a_length_beyond_the_largest() -> None:
    assert seal.length_of(seal.LARGEST.to_bytes(4) + bytes(32)) == seal.LARGEST
    for length in (seal.LARGEST + 1, 2**32 - 1):
        with pytest.raises(Unsealed, match=str(length)):
            seal.length_of(length.to_bytes(4) + bytes(32))


@pytest.mark.parametrize("key", [b"", b"k", bytes(range(32)), bytes(64)])
def test_the_mac_is_that_of_the_standard_library(key: bytes) -> None:
    assert seal._Mac(key).of(b"one", b"", b"two" * 99) == hmac.digest(key, b"one" + b"two" * 99, "sha256")


def test_the_secret_is_in_no_text() -> None:
    assert "of this run" not in repr(SECRET)
