"""Lines that say what a defect of a release depends on: releases, hardware, features, and frames of NCCL."""

from nccltool.triage.logs.patterns import table

PATTERNS = table(
    r"""
state
    version.release  `torch 1.|torch 2.|torch==|PyTorch 1.|PyTorch 2.|orch version: ` => (?i)\b
                     (?P<name>(?:py)?torch)(?:==| version: | )(?P<version>\d+\.\d+(?:\.\d+)?[\w.+]*)
    version.release  `aws-ofi-nccl ` => (?:Initializing|Using) (?P<name>aws-ofi-nccl) (?P<version>\d[\w.-]*)
    version.release  `ibfabric version |ibfabric: ` => (?i)(?P<name>libfabric)(?: version|:) (?P<version>
                     \d+\.\d+[\w.]*)
    version.release  `egatron-core |egatron-core==|egatron_core ` => (?i)(?P<name>megatron)[-_]core(?:==| )
                     (?P<version>\d+\.\d+[\w.]*)
    version.release  `NVSHMEM v|nvshmem-cu|NVSHMEM version` => (?P<name>NVSHMEM|nvshmem)(?:-cu\d+==|
                     [ ]version:?)? ?v?(?P<version>\d+\.\d+\.\d+)
    version.release  `river Version: |driver ` => (?i)(?P<name>driver)(?: version:)? (?P<version>\d{3}\.
                     \d+(?:\.\d+)?)\b
    log.mention      \b(?P<name>`A100|H100|H200|V100|B200|GB200|GB300|GH200|GB10|DGX-1|EPYC|aarch64`)\b
    log.mention      \b(?P<name>`gfx`\d+[a-z]?)\b
    log.mention      (?P<name>`cudagraph`)
    log.mention      `raph capturing|uda Graphs|UDA graph|uda_graph` => (?i)(?P<name>graph capturing|
                     cuda[ _]graphs?)
    log.mention      (?P<name>`Connected NVLS tree|alltoallv|AllToAllv|all_to_all_single`)
    log.mention      (?P<name>`CommWindowRegister|ncclPutSignal|ncclFloat8`)
    log.mention      `locking set to 0|OMM_NONBLOCKING=1` => (?P<name>locking set to 0|COMM_NONBLOCKING=1)
    log.mention      (?P<name>GIN plugin `GIN_`\w+)
    log.mention      `active_mtu:` => (?P<name>active_mtu:\s*\d+)
    log.mention      (?P<name>`MSCCL`(?:PP|\+\+)?)\b
    log.mention      (?P<name>`MNNVL 1|liqueSize `\d*)
    log.mention      (?P<name>`ulimit -s` unlimited)
    log.mention      (?P<name>`Closing net plugin|ould not find: /|CUDA_LAUNCH_BLOCKING=1`)
    nccl.choice      `Bytes -> Algo ` => (?P<size>\d+) Bytes -> Algo (?P<algorithm>\w+) proto
                     [ ](?P<protocol>\w+)
    nccl.frame       `(enqueue.cc:|(group.cc:|(proxy.cc:|(init.cc:|(transport.cc:` => ^\s+(?P<function>
                     \w+) \(\w+\.cc:
    nccl.frame       ` at enqueue.cc| at graph/| at group.cc| at include/| at init.cc| at transport` => {FRAME}
    nccl.frame       ` at misc/| at gin/| at ras/` => {FRAME}
    nccl.frame       (?P<function>`nccl_ofi_|libnccl-ofi-`\w+)
    nccl.frame       `commReclaim|ncclCommAbort|NCCL::abort|ncclStrongStream|LocalOpAppend` => (?P<function>
                     \w+(?:::\w+)*) ?\(
""",
    FRAME=r"^\W*\d+ +(?:0x[0-9a-f]+ in )?(?P<function>\w+) ?\(",
)
