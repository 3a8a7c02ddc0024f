"""Cases of nccltool/doctor/rules/debug.py."""

from nccltool.hosts.facts import Container, FileFact, Listener, Network
from tests.doctor.rules.base import UNREAD, host, of

_LOG = {"NCCL_DEBUG_FILE": "/logs/nccl.%p.log", "NCCL_DEBUG": "WARN"}
_NFS = FileFact(path="/logs/nccl.%p.log", asked_by="NCCL_DEBUG_FILE", fstype="nfs4", parent_writable=True)
_GONE = FileFact(path="/logs/nccl.%p.log", asked_by="NCCL_DEBUG_FILE", parent_writable=False)
_UNKNOWN = FileFact(path="/logs/nccl.%p.log", asked_by="NCCL_DEBUG_FILE")
_PORT = Network(listeners=(Listener(address="127.0.0.1", port=28028, uid=1001),))
_ME = Container(uid=1000)

CASES = (
    of("DBG001", fires=[host({"NCCL_DEBUG": "trace"})], silent=[host(), host({"NCCL_DEBUG": "INFO"})]),
    of(
        "DBG002",
        fires=[host({"NCCL_DEBUG": "INFO"}, nodes=8)],
        silent=[
            host(nodes=None),
            host({"NCCL_DEBUG": "INFO"}, nodes=7),
            host({**_LOG, "NCCL_DEBUG": "INFO"}, nodes=8),
        ],
        unknown=[UNREAD, host({"NCCL_DEBUG": "INFO"}, nodes=None)],
    ),
    of(
        "DBG003",
        fires=[host({"NCCL_DEBUG": "DEBUG"}), host({"NCCL_DEBUG": "1"}), host({"NCCL_DEBUG": "INFO "})],
        silent=[host(), host({"NCCL_DEBUG": "info"}), host({"NCCL_DEBUG": ""})],
    ),
    of(
        "DBG004",
        fires=[host(nodes=2)],
        silent=[host(nodes=1), host({"NCCL_DEBUG": "WARN"}), host({"NCCL_DEBUG": "WARN"}, nodes=None)],
        unknown=[UNREAD, host(nodes=None)],
    ),
    of(
        "DBG005",
        fires=[
            host({"NCCL_DEBUG_FILE": "/logs/nccl.log"}),
            host({"NCCL_DEBUG_FILE": "/logs/%%p.%h"}),
            host(_LOG, files_=(_NFS,)),
        ],
        silent=[
            host(),
            host({"NCCL_DEBUG_FILE": "/dev/stderr"}),
            host({"NCCL_DEBUG_FILE": "/logs/nccl.%h.%p"}),
            host(_LOG, files_=(_NFS,), nodes=1),
        ],
        unknown=[UNREAD, host(_LOG, files_=(_UNKNOWN,)), host(_LOG, nodes=None)],
    ),
    of(
        "DBG006",
        fires=[host(_LOG, files_=(_GONE,))],
        silent=[host(), host(_LOG, files_=(_NFS,)), host({"NCCL_DEBUG_FILE": "/dev/stdout"})],
        unknown=[UNREAD, host(_LOG, files_=(_UNKNOWN,))],
    ),
    of(
        "DBG007",
        fires=[host({"NCCL_DEBUG_FILE": "/tmp/x"}), host({"NCCL_DEBUG_FILE": "/tmp/x", "NCCL_DEBUG": "VERSION"})],
        silent=[host(), host(_LOG)],
    ),
    of(
        "DBG008",
        fires=[host({"NCCL_DEBUG_SUBSYS": "NET"}), host({"NCCL_DEBUG_SUBSYS": "NET", "NCCL_DEBUG": "WARN"})],
        silent=[host(), host({"NCCL_DEBUG_SUBSYS": "NET", "NCCL_DEBUG": "INFO"})],
    ),
    of(
        "DBG009",
        fires=[
            host({"NCCL_DEBUG_SUBSYS": "INIT,NETWORK"}),
            host({"NCCL_DEBUG_SUBSYS": "INIT,^NET"}),
            host({"NCCL_DEBUG_SUBSYS": "INIT,NETWORK"}, nccl=(2, 27, 7)),
        ],
        silent=[host(), host({"NCCL_DEBUG_SUBSYS": "^init, NET"}), host({"NCCL_DEBUG_SUBSYS": ""})],
    ),
    of(
        "DBG010",
        fires=[
            host({"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "ALL"}),
            host({"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "^NET"}),
        ],
        silent=[
            host(),
            host({"NCCL_DEBUG": "INFO"}),
            host({"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET"}),
            host({"NCCL_DEBUG": "WARN", "NCCL_DEBUG_SUBSYS": "ALL"}),
        ],
    ),
    of("DBG011", fires=[host({"NCCL_DEBUG_TIMESTAMP_FORMAT": ""})], silent=[host()]),
    of(
        "DBG012",
        fires=[host(network=_PORT, container=_ME)],
        silent=[
            host(network=Network(listeners=())),
            host(network=_PORT, container=Container(uid=1001)),
            host({"NCCL_RAS_ENABLE": "0"}),
            host({"NCCL_RAS_ADDR": "localhost:1"}),
        ],
        unknown=[UNREAD, host(), host(network=_PORT)],
    ),
    of(
        "DBG013",
        fires=[host({"NCCL_RAS_ADDR": "0.0.0.0:28028"}), host({"NCCL_RAS_ADDR": "[fd00::1]:28028"})],
        silent=[
            host(),
            host({"NCCL_RAS_ADDR": "localhost:1"}),
            host({"NCCL_RAS_ADDR": "127.0.0.1:1"}),
            host({"NCCL_RAS_ADDR": "0.0.0.0:1", "NCCL_RAS_ENABLE": "0"}),
        ],
    ),
    of("DBG014", fires=[host({"NCCL_RAS_ENABLE": "0"})], silent=[host(), host({"NCCL_RAS_ENABLE": "1"})]),
)
