"""Cases of nccltool/doctor/rules/conf_files.py."""

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Cloud, ConfFile, Library, Plugin
from tests.doctor.rules.base import UNREAD, host, of

_SITE = {"NCCL_CONF_FILE": "/opt/site/nccl.conf"}
_GONE = ConfFile(role="NCCL_CONF_FILE", path="/gone", exists=False, text=Unknown("/gone is not there"))
_HOME = ConfFile(role="home", path="/root/.nccl.conf", exists=True, text="")
_HIDDEN = ConfFile(role="system", path="/etc/nccl.conf", exists=True, text=Unknown("Permission denied"))
_ENV_PLUGIN = Plugin(library=Library(path="/lib/libnccl-env.so", origin="system"), name="libnccl-env.so")

CASES = (
    of(
        "CNF001",
        fires=[host({"NCCL_CONF_FILE": "/gone"}, conf_files=(_GONE,))],
        silent=[host(), host(_SITE, files={"NCCL_CONF_FILE": ""})],
    ),
    of(
        "CNF002",
        fires=[host({"NCCL_TOPO_FILE": "~/topo.xml"}), host({"NCCL_DEBUG_FILE": "~root/nccl.%p"})],
        silent=[host(), host({"NCCL_TOPO_FILE": "/a~b/topo.xml"})],
    ),
    of(
        "CNF003",
        fires=[host(_SITE, conf_files=(_HOME,))],
        silent=[host(conf_files=(_HOME,)), host(_SITE), host({"NCCL_CONF_FILE": ""}, conf_files=(_HOME,))],
        unknown=[UNREAD, host(_SITE, conf_files=(ConfFile(role="home", path="/nfs/.nccl.conf"),))],
    ),
    of(
        "CNF004",
        fires=[
            host({"NCCL_DEBUG": "INFO"}, files={"system": "NCCL_DEBUG=WARN\n"}),
            host(files={"home": "NCCL_DEBUG=INFO", "system": "NCCL_DEBUG=WARN"}),
            host(files={"system": "NCCL_DEBUG=INFO\nNCCL_DEBUG=WARN"}),
            host({"NCCL_DEBUG": ""}, files={"system": "NCCL_DEBUG=WARN"}),
            host(env_file="NCCL_DEBUG=INFO\nNCCL_DEBUG=WARN\n"),
        ],
        silent=[
            host(),
            host(env_file="NCCL_DEBUG=WARN\nNCCL_DEBUG=WARN\nMY_OWN=1\nMY_OWN=2\n"),
            host(env_file="export LD_LIBRARY_PATH=/a\nexport LD_LIBRARY_PATH=/b:$LD_LIBRARY_PATH\n"),
            host({"NCCL_DEBUG": "INFO"}, files={"system": "NCCL_DEBUG=INFO\n#NCCL_DEBUG=WARN"}),
        ],
    ),
    of(
        "CNF005",
        fires=[
            *[
                host(files={"system": text})
                for text in (
                    *("export NCCL_DEBUG=INFO", " NCCL_DEBUG=INFO", "NCCL_DEBUG = INFO", "NCCL_DEBUG=INFO # now"),
                    *(
                        "NCCL_DEBUG",
                        "=INFO",
                        "\ufeffNCCL_DEBUG=INFO",
                        f"NCCL_IB_HCA={'m' * 2000}",
                        "NCCL_DEBUG= INFO",
                    ),
                )
            ]
        ],
        silent=[
            host(),
            host(files={"system": "# NCCL = x\n\nNCCL_DEBUG=INFO\r\nNCCL_SOCKET_IFNAME==eth0\n #c=1"}),
        ],
    ),
    of(
        "CNF006",
        fires=[host(files={"home": "NCCL_P2P_DISABLE=1"}), host(files={"system": "NCCL_ALGO=Ring"})],
        silent=[
            host({"NCCL_P2P_DISABLE": "1"}),
            host(files={"system": "NCCL_DEBUG=WARN\nNCCL_TOPO_FILE=/t"}),
            host(files={"system": "NCCL_IB_PCI_RELAXED_ORDERING=1"}, cloud=Cloud(provider="azure")),
        ],
    ),
    of(
        "CNF007",
        fires=[
            (host(files={"system": "NCCL_DEBUG=WARN"}), host(files={"system": ""}, host="n2")),
            (host(_SITE, conf_files=(_GONE,)), host(_SITE, files={"NCCL_CONF_FILE": "A=1"}, host="n2")),
        ],
        silent=[host(), (host(files={"system": "A=1"}), host(files={"system": "A=1"}, host="n2"))],
        unknown=[(host(conf_files=(_HIDDEN,)), host(files={"system": "A=1"}, host="n2"))],
    ),
    of(
        "CNF008",
        fires=[host(_SITE, nccl=(2, 21, 5))],
        silent=[host(nccl=None), host(_SITE, nccl=(2, 23, 4))],
        unknown=[UNREAD, host(_SITE, nccl=None)],
    ),
    of(
        "CNF009",
        fires=[host({"NCCL_ENV_PLUGIN": "gcp"}), host(plugins=(_ENV_PLUGIN,))],
        silent=[
            host(plugins=()),
            host({"NCCL_ENV_PLUGIN": "none"}),
            host(plugins=(_ENV_PLUGIN,), nccl=(2, 27, 7)),
        ],
        unknown=[UNREAD, host(), host(plugins=(_ENV_PLUGIN,), nccl=None)],
    ),
    of(
        "CNF010",
        fires=[host(files={"system": "LD_LIBRARY_PATH=/opt"}), host({"CUDA_X": ""}, files={"home": "CUDA_X=1"})],
        silent=[host({"LD_LIBRARY_PATH": "/opt"}), host(files={"system": "NCCL_DEBUG=WARN"})],
    ),
    of(
        "CNF011",
        fires=[
            host({"HOME": ""}, files={"home": "NCCL_DEBUG=WARN"}),
            host({"PATH": "/bin"}, files={"home": "NCCL_DEBUG=WARN"}, env_source="process"),
        ],
        silent=[
            host(),
            host({"HOME": "/root"}, files={"home": "NCCL_DEBUG=WARN"}),
            host({"HOME": ""}, files={"home": "NCCL_DEBUG=WARN"}, nccl=(2, 29, 7)),
            host(files={"home": "NCCL_DEBUG=WARN"}, env_source="job.env"),
            host({"HOME": "", "NCCL_CONF_FILE": "/opt/nccl.conf"}, files={"home": "NCCL_DEBUG=WARN"}),
        ],
        unknown=[UNREAD, host({"HOME": ""}, files={"home": "NCCL_DEBUG=WARN"}, nccl=None)],
    ),
    of(
        "CNF012",
        fires=[host({"NCCL_TOPO_FILE": "topo.xml"}), host({"NCCL_CONF_FILE": "./nccl.conf"})],
        silent=[host(), *(host({"NCCL_TOPO_FILE": path}) for path in ("/opt/t.xml", "~/t.xml", "$PWD/t.xml"))],
    ),
    of(
        "CNF013",
        fires=[
            host(env_file="export NCCL_DEBUG=WARN\nNCCL_IB_HCA=mlx5_0\n"),
            host(env_file="NCCL_IB_HCA=mlx5_0\nexport NCCL_DEBUG=WARN\n"),
        ],
        silent=[
            host(),
            host(env_file="NCCL_DEBUG=WARN\nNCCL_IB_HCA=mlx5_0\n"),
            host(env_file="export NCCL_DEBUG=WARN\nNCCL_IB_HCA=mlx5_0\nexport NCCL_IB_HCA\nFOLDER=/a\n"),
            host(env_file="set -a\nexport NCCL_DEBUG=WARN\nNCCL_IB_HCA=mlx5_0\n"),
        ],
    ),
)
