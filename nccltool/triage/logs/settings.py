"""Environment variables that a program names when it refuses their value, whatever the program."""

from nccltool.triage.logs.patterns import table

_NAME = (
    r"\b(?P<name>(?!\w*(?:ERROR|ERR_|_STATUS|_CHECK|VERSION|_HOME\b|SUCCESS|_INTERNAL))"
    r"(?:NCCL|RCCL|MSCCLPP|TORCH|PYTORCH|"
    r"GLOO|UCX|UCC|HCOLL|FI|OFI|OMPI|PRTE|PMIX|I_MPI|MPICH|MV2|CUDA|HIP|ROCR|ROCM|HSA|AMD|NVIDIA|NVSHMEM|NVTE|"
    r"OMP|GOMP|KMP|MKL|CCL|PJRT|ZE|NEURON|HCCL|ASCEND|MASTER|LOCAL|WORLD|NODE|PET|PSM2|PSM3|VLLM|SGLANG|SGL|HOROVOD|DS|"
    r"DEEPSPEED|ACCELERATE|FSDP|RAY|HF|"
    r"JAX|XLA|TF|PL|MAX_JOBS|PALS|SHARP)_[A-Z0-9_]*[A-Z0-9])\b"
)
_BAD = (
    r"(?:[Ii]nvalid|[Uu]nknown|[Uu]nrecogni[sz]ed|[Uu]nsupported|[Ii]llegal|[Bb]ad|[Uu]nexpected|[Ww]rong|"
    r"(?:[Cc]ould not|[Cc]annot|[Ff]ailed to|[Uu]nable to) parse)"
)
_IS_BAD = (
    r"(?:is (?:an? )?(?:invalid|unknown|unrecogni[sz]ed|unsupported|illegal|malformed)|"
    r"appears to be a URI|is not (?:an? )?(?:valid|supported|recogni[sz]ed|integer|number|one of)|"
    r"must be (?!set\b)|"
    r"should be (?:one of|an? (?:integer|number)|in )|has to be |"
    r"(?:invalid|unknown|unsupported|unrecogni[sz]ed) (?:value|option|argument|algorithm|protocol|device)|"
    r"expected one of|c(?:an|ould) ?not be parsed|out of range|does not accept|accepts only)"
)

PATTERNS = table(
    r"""
failure
    env.rejected  `CCL_ERROR` => CCL_ERROR\|.*?(?P<name>CCL_[A-Z_]+)\b.{0,20}(?:can't parse|unexpected|invalid|
                  expected)
state
    shell.mask    `VISIBLE_DEVICES=|ZE_AFFINITY_MASK=` => \b(?P<name>(?:CUDA|HIP|ROCR|ASCEND_RT)_VISIBLE_DEVICES|
                  ZE_AFFINITY_MASK)=['"]?(?P<value>[\w.-]+(?:,[\w.-]+)*)
    env.shown     `TORCH_|ACCELERATE_|FSDP_|JAX_|PJRT_|HOROVOD_|VLLM_|SGLANG_|VISIBLE_DEVICES=` => ^
                  (?:export |env: |\+ (?:export )?)?{NAME}=(?P<value>\S+)$
doubt
    env.rejected  `nvalid |nknown |nrecogni|nsupported |llegal |parse |nexpected |ad value|rong value` => ^
                  (?!.* INFO ).*?\b{BAD}\b[\w '"-]{0,60}?{NAME}
    env.rejected  `must be |not a valid|not valid|is not one of|xpected one of|has to be |out of range` => ^
                  (?!.* INFO ).*?{NAME}.{0,60}?\b{IS_BAD}
    env.rejected  `s invalid|nvalid value|nknown value|nsupported value|nknown algorithm|nknown protocol` => ^
                  (?!.* INFO ).*?{NAME}.{0,60}?\b{IS_BAD}
    env.rejected  `s unsupported|not supported|be parsed|ccepts only|s malformed|not an integer|should be ` => ^
                  (?!.* INFO ).*?{NAME}.{0,60}?\b{IS_BAD}
    env.rejected  `nvironment variable` => (?:[Ee]xpected|[Ii]nvalid value for|[Ii]nvalid|[Cc]ould not parse)
                  [\w ]{0,30}[ ]environment variables?:? ['"\x60]?{NAME}
    env.rejected  `must not be set|cannot be set|cannot be used|annot set|are mutually exclusive` => ^
                  (?!.* INFO ).*?{NAME}.{0,60}(?:must not be|cannot be|can't be|are mutually)
    env.rejected  `hile reading |hile parsing ` => (?:[Ii]nvalid|[Ee]rror|[Ff]ail).*\bwhile (?:reading|parsing)
                  [ ](?:the )?(?:environment variable )?['"]?{NAME}
    env.rejected  `appears to be a URI` => ^(?!.* INFO ).*?{NAME}.{0,60}?\b{IS_BAD}
    env.rejected  `lease use ` => \b[Pp]lease use \w+_VISIBLE_DEVICES instead of {NAME}
    env.rejected  `nconsistent values found` => [Pp]lease use either {NAME} or
    env.rejected  `CachingAllocator ` => Unrecognized CachingAllocator option|Error parsing CachingAllocator set|
                  CachingAllocator option \w+ too
    env.rejected  `in CUDA allocator config` => Unrecognized key
    env.rejected  `rue/False argument after` => Expected a single
    env.rejected  `list of known backends` => (?i)\bBackend '[^']*' is not in the list of known backends(?:.*set
                  [ ]{NAME})?
    env.rejected  `nvalid log settings` => registered log names
    env.rejected  `nknown CUDA arch` => Unknown CUDA arch \(
    env.rejected  `nvalid truth value`
    env.rejected  `abric is unknown or has been removed`
    env.unused    `unused environment variable` => variables?:? (?P<name>UCX_\w+|UCC_\w+) \(maybe
""",
    NAME=_NAME,
    BAD=_BAD,
    IS_BAD=_IS_BAD,
)
