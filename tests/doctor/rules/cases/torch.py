"""Cases of nccltool/doctor/rules/torch.py."""

from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import FileFact, Versions
from tests.doctor.rules.base import UNREAD, host, of

_NEWER = {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}
_DUMP = {"TORCH_FR_DUMP_TEMP_FILE": "/dump/trace_"}


def _file(**facts: object) -> tuple[FileFact, ...]:
    return (FileFact(path="/dump/trace_", asked_by="TORCH_FR_DUMP_TEMP_FILE", **facts),)  # type: ignore[arg-type]


def _allocator(text: str) -> JudgedHost:
    return host({"PYTORCH_CUDA_ALLOC_CONF": text})


CASES = (
    of(
        "TRC001",
        fires=[host({"TORCH_NCCL_BLOCKING_WAIT": "1"}), host({"NCCL_BLOCKING_WAIT": "yes"})],
        silent=[host(), host({"TORCH_NCCL_BLOCKING_WAIT": "0", "NCCL_BLOCKING_WAIT": "1"})],
    ),
    of(
        "TRC002",
        fires=[host({"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"})],
        silent=[host(), host({"TORCH_NCCL_ASYNC_ERROR_HANDLING": "3"}), host({"NCCL_ASYNC_ERROR_HANDLING": "x"})],
    ),
    of(
        "TRC003",
        fires=[host({"TORCH_NCCL_ASYNC_ERROR_HANDLING": "2"})],
        silent=[host(), host({"TORCH_NCCL_ASYNC_ERROR_HANDLING": "1"})],
    ),
    of(
        "TRC004",
        fires=[host({"TORCH_NCCL_ENABLE_MONITORING": "false"})],
        silent=[host(), host({"TORCH_NCCL_ENABLE_MONITORING": "1"})],
    ),
    of(
        "TRC005",
        fires=[host({"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "10"})],
        silent=[host(), host({"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "600"})],
    ),
    of(
        "TRC006",
        fires=[
            host({"TORCH_FR_BUFFER_SIZE": "0", "TORCH_FR_DUMP_ON_TIMEOUT": "1"}),
            host({"TORCH_NCCL_TRACE_BUFFER_SIZE": "0", "TORCH_NCCL_DUMP_ON_TIMEOUT": "1"}),
        ],
        silent=[
            host(),
            host({"TORCH_FR_BUFFER_SIZE": "0"}),  # it is switched off
            host({"TORCH_FR_BUFFER_SIZE": "2000"}),
            host({"TORCH_FR_BUFFER_SIZE": "0", "TORCH_NCCL_DUMP_ON_TIMEOUT": "0"}),
        ],
    ),
    of(
        "TRC007",
        fires=[
            host(_DUMP, files_=_file(parent_writable=False, fstype="ext4")),
            host(_DUMP, files_=_file(parent_writable=True, fstype="lustre")),
        ],
        silent=[host(), host(_DUMP, files_=_file(parent_writable=True, fstype="xfs"))],
        unknown=[UNREAD, host(_DUMP), host(_DUMP, files_=_file())],
    ),
    of(
        "TRC008",
        fires=[host({"TORCH_DISTRIBUTED_DEBUG": "detail"}), host({"TORCH_NCCL_NAN_CHECK": "1"})],
        silent=[host(), host({"TORCH_DISTRIBUTED_DEBUG": "INFO", "TORCH_NCCL_NAN_CHECK": "0"})],
    ),
    of(
        "TRC009",
        fires=[host({"TORCH_NCCL_USE_COMM_NONBLOCKING": "1"})],
        silent=[host(), host({"TORCH_NCCL_USE_COMM_NONBLOCKING": "0"})],
    ),
    of(
        "TRC010",
        fires=[host({"TORCH_NCCL_AVOID_RECORD_STREAMS": "1"}, versions=Versions(torch="2.13.0+cu130"))],
        silent=[host(), host({"TORCH_NCCL_AVOID_RECORD_STREAMS": "1"}, versions=Versions(torch="2.7.1"))],
        unknown=[UNREAD, host({"TORCH_NCCL_AVOID_RECORD_STREAMS": "1"})],
    ),
    of(
        "TRC028",
        fires=[
            host(
                {"TORCH_NCCL_AVOID_RECORD_STREAMS": "1"}, versions=Versions(torch=f"2.7.0a0+79aa17489c.nv25.{end}")
            )
            for end in ("04", "4")
        ],
        silent=[
            host(),
            *(
                host({"TORCH_NCCL_AVOID_RECORD_STREAMS": "1"}, versions=Versions(torch=text))
                for text in ("2.7.1", "2.7.0a0+7c8ec84dab.nv25.03", "2.8.0a0+5228986c39.nv25.5", "2.8.0+nv25.40")
            ),
            host({"TORCH_NCCL_AVOID_RECORD_STREAMS": "0"}, versions=Versions(torch="2.7.0a0+79aa17489c.nv25.04")),
        ],
        unknown=[UNREAD, host({"TORCH_NCCL_AVOID_RECORD_STREAMS": "1"})],
    ),
    of(
        "TRC011",
        fires=[
            host(
                {
                    "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK": "1",
                    "PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:1, expandable_segments:True",
                }
            )
        ],
        silent=[
            host(),
            host({"TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK": "1"}),
            host({"PYTORCH_ALLOC_CONF": "expandable_segments:True"}),
        ],
    ),
    of(
        "TRC012",
        fires=[host({"TORCH_DISTRIBUTED_DEBUG": text}) for text in ("VERBOSE", "1", "DEBUG")],
        silent=[host(), *(host({"TORCH_DISTRIBUTED_DEBUG": text}) for text in ("off", "Info", "DETAIL", ""))],
    ),
    of(
        "TRC013",
        fires=[
            _allocator("expandable_segment:True"),
            _allocator("roundup_power2_divisions:3"),
            *(_allocator(f"expandable_segments{end}") for end in ("=True", ":true", ":1", "")),
            *map(_allocator, ("True", "max_split_size_mb:10", "'backend:native'")),
            host({"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True;max_split_size_mb:128"}),
            host({"PYTORCH_ALLOC_CONF": "expandable_segments:True,garbage_collection_threshold:80"}),
            host({"PYTORCH_HIP_ALLOC_CONF": "backend:cudaMalloc"}),
            host({"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, versions=Versions(torch="2.0.1")),
        ],
        silent=[
            host(),
            *map(_allocator, ("", "expandable_segments:True,", "unheard_of:1")),
            host({"PYTORCH_CUDA_ALLOC_CONF": " expandable_segments : True , max_split_size_mb:128"}),
            host({"PYTORCH_ALLOC_CONF": "roundup_power2_divisions:[256:1,512:2,>:8],backend:native"}),
            host({"PYTORCH_ALLOC_CONF": "garbage_collection_threshold:0.8,expandable_segments:False"}),
            host({"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, versions=Versions(torch="2.1.0")),
        ],
    ),
    of(
        "TRC014",
        fires=[host({name: "0"}) for name in ("PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_NO_HIP_MEMORY_CACHING")],
        silent=[host()],
    ),
    of(
        "TRC015",
        fires=[host(_NEWER, versions=Versions(torch="2.9.1"))],
        silent=[
            host(),
            host(_NEWER, versions=Versions(torch="2.10.0")),
            host({**_NEWER, "PYTORCH_CUDA_ALLOC_CONF": "backend:native"}, versions=Versions(torch="2.9.1")),
        ],
        unknown=[UNREAD, host(_NEWER)],
    ),
    of(
        "TRC016",
        fires=[
            _allocator("max_split_size_mb:500,expandable_segments:True"),
            host({"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True, max_split_size_mb:128"}),
        ],
        silent=[
            host(),
            *map(_allocator, ("expandable_segments:True", "expandable_segments:False,max_split_size_mb:128")),
        ],
    ),
    of(
        "TRC017",
        fires=[
            host({"TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "10s"}),
            host({"TORCH_NCCL_TRACE_BUFFER_SIZE": "2k"}),
        ],
        silent=[
            host(),
            host({"TORCH_NCCL_TRACE_BUFFER_SIZE": " 2000 "}),
            host({"TORCH_NCCL_TRACE_BUFFER_SIZE": "many"}),
            host({"TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "/tmp/3a"}),
        ],
    ),
    of(
        "TRC018",
        fires=[
            host({"PYTORCH_CUDA_ALLOC_CONF": "backend:native", "PYTORCH_ALLOC_CONF": "backend:cudaMallocAsync"}),
            _allocator("backend:cudaMallocAsync,expandable_segments:True"),
        ],
        silent=[
            host(),
            _allocator("backend:cudaMallocAsync"),
            host({"PYTORCH_CUDA_ALLOC_CONF": "backend:native", "PYTORCH_ALLOC_CONF": "backend:native"}),
        ],
    ),
    of(
        "TRC019",
        fires=[host({"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "9999999999"})],
        silent=[host(), host({"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "86400"})],
    ),
    of(
        "TRC020",
        fires=[host({"TORCH_CPP_LOG_LEVEL": "DEBUG"})],
        silent=[host(), *(host({"TORCH_CPP_LOG_LEVEL": text}) for text in ("info", "ERROR", "0"))],
    ),
)
