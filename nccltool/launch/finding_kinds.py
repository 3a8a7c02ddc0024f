"""Findings about hosts, nodes and ranks: who did not come, who died, what a scheduler ended."""

from nccltool.core.findings import define

# ---- a rank or a node is in trouble
RANK_DIED = define("rank-died", "incomplete", retry=True, root_causes=("peer-exited",))
RANK_ERROR = define("rank-error", "incomplete", retry=True, root_causes=("app-error",))
GPU_ERROR = define("gpu-error", "incomplete", retry=True, root_causes=("gpu-fault",))
GPU_OUT_OF_MEMORY = define("gpu-out-of-memory", "incomplete", root_causes=("out-of-memory",))
RANK_HUNG = define("rank-hung", "incomplete", retry=True, root_causes=("straggler-timeout",))
TERMINATED = define("terminated", "incomplete", retry=True, root_causes=("preempted",), suspects=())
AGENT_KILLED = define("agent-killed", "incomplete", retry=True, root_causes=("peer-exited",))
PROCESS_STOPPED = define("process-stopped", "incomplete", "error", "warning", retry=True)
RANK_MISSING = define("rank-missing", "incomplete", root_causes=("rdzv-store",))
HANG = define("hang", "incomplete", retry=True)
COLLECTIVE_FAILED = define("collective-failed", "incomplete", retry=True)
NODE_MISSING = define("node-missing", "incomplete", root_causes=("rdzv-store",))
NODE_RANK_TWICE = define("node-rank-twice", "incomplete", suspects=())
NODE_FAILED = define("node-failed", "incomplete", retry=True)
LEADER_GONE = define("leader-gone", "incomplete")
RDZV_UNREACHABLE = define("rdzv-unreachable", "incomplete", root_causes=("rdzv-store",))
RDZV_SECRET = define("rdzv-secret", "incomplete", may_be_the_order=True, page="findings-hosts.md", suspects=())
STRANGERS_REFUSED = define("strangers-refused", "note", "info", suspects=())
NO_RUN_SECRET = define("no-run-secret", "note", "warning", "info", page="findings-hosts.md", suspects=())
PORT_IN_USE = define("port-in-use", "incomplete", may_be_the_order=True, root_causes=("rdzv-store",))
INTERFACE_UNUSABLE = define(
    "interface-unusable", "incomplete", may_be_the_order=True, root_causes=("net-interface",)
)
PLUGIN_FAILED = define("plugin-failed", "incomplete", page="findings-results.md", suspects=())
FAULT_INJECTED = define("fault-injected", "note", "info", suspects=())
COMMAND_STOPPED = define("command-stopped", "incomplete", retry=True, suspects=())
COMMAND_KILLED = define("command-killed", "incomplete", retry=True, suspects=())
DEADLINE = define("deadline", "incomplete", suspects=())
RUN_DIR_FULL = define("run-dir-full", "incomplete", may_be_the_order=True)

# ---- a host cannot be used
HOST_UNKNOWN = define("host-unknown", "incomplete", root_causes=("rdzv-store",), page="findings-hosts.md")
HOST_REFUSED = define("host-refused", "incomplete", root_causes=("rdzv-store",), page="findings-hosts.md")
HOST_UNREACHABLE = define(
    "host-unreachable", "incomplete", root_causes=("rdzv-store", "net-unreachable"), page="findings-hosts.md"
)
HOST_MISCONFIGURED = define(
    "host-misconfigured", "incomplete", root_causes=("rdzv-store",), page="findings-hosts.md"
)
HOST_SILENT = define("host-silent", "incomplete", root_causes=("rdzv-store",), page="findings-hosts.md")
HOST_TWICE = define("host-twice", "incomplete", page="findings-hosts.md", suspects=())
HOST_LOST = define(
    "host-lost", "incomplete", retry=True, root_causes=("net-unreachable",), page="findings-hosts.md"
)
PEER_UNREACHABLE = define(
    "peer-unreachable", "incomplete", root_causes=("net-unreachable",), page="findings-hosts.md"
)
PATH_CUT = define("path-cut", "incomplete", retry=True, root_causes=("net-unreachable",), page="findings-hosts.md")
LARGE_PACKETS_LOST = define(
    "large-packets-lost", "incomplete", root_causes=("net-unreachable",), page="findings-hosts.md"
)

# ---- Slurm ended it
SLURM_CANCELLED = define(
    "slurm-cancelled", "incomplete", root_causes=("preempted",), page="findings-hosts.md", suspects=()
)
SLURM_TIME_LIMIT = define(
    "slurm-time-limit", "incomplete", root_causes=("preempted",), page="findings-hosts.md", suspects=()
)
SLURM_PREEMPTED = define(
    "slurm-preempted", "incomplete", root_causes=("preempted",), page="findings-hosts.md", suspects=()
)
SLURM_REQUEUED = define(
    "slurm-requeued", "incomplete", root_causes=("preempted",), page="findings-hosts.md", suspects=()
)
SLURM_NODE_FAILED = define("slurm-node-failed", "incomplete", page="findings-hosts.md")
SLURM_OUT_OF_MEMORY = define(
    "slurm-out-of-memory", "incomplete", root_causes=("out-of-memory",), page="findings-hosts.md"
)
SLURM_TASK_KILLED = define("slurm-task-killed", "incomplete", page="findings-hosts.md")
SLURM_REFUSED = define("slurm-refused", "incomplete", page="findings-hosts.md", suspects=())

# ---- the world is not the one that was asked for
WORLD_SIZE = define("world-size", "incomplete", page="findings-hosts.md", suspects=())
RANKS_PER_NODE = define("ranks-per-node", "incomplete", page="findings-hosts.md", suspects=())
WORLD_OF_ONE = define("world-of-one", "incomplete", "error", "warning", page="findings-hosts.md", suspects=())
SHM_UNUSABLE = define("shm-unusable", "incomplete", root_causes=("shm-size",), page="findings-hosts.md")
GPU_UNUSABLE = define("gpu-unusable", "incomplete", root_causes=("gpu-fault",), page="findings-hosts.md")
TORCH_WITHOUT_GPU = define("torch-without-gpu", "incomplete", may_be_the_order=True, page="findings-hosts.md")
DUPLICATE_GPU = define(
    "duplicate-gpu", "incomplete", root_causes=("duplicate-gpu",), page="findings-hosts.md", suspects=()
)
VERSION_MISMATCH = define(
    "version-mismatch",
    "incomplete",
    "error",
    "warning",
    root_causes=("version-mismatch",),
    page="findings-hosts.md",
    suspects=(),
)
BACKEND_UNAVAILABLE = define("backend-unavailable", "incomplete", may_be_the_order=True, page="findings-hosts.md")
LOOPBACK_HOSTNAME = define("loopback-hostname", "note", "warning", page="findings-hosts.md")
CLOCK_SKEW = define("clock-skew", "note", "warning", page="findings-hosts.md")

# ---- counters of the network over a run: a host's count all of its traffic, so they accuse nobody
RETRANSMITS = define("retransmits", "note", "warning", root_causes=("slow-path",))
PATH_SLOW = define("path-slow", "note", "warning", root_causes=("slow-path",))
LINK_ERRORS = define("link-errors", "note", "warning", root_causes=("ib-link", "slow-path"))
COUNTERS_UNREAD = define("counters-unread", "note", "info")
