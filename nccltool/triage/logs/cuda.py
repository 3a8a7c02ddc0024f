"""CUDA's and HIP's errors by the names of their enumerations, and what runtimes say in their place."""

from nccltool.triage.logs.patterns import table

PATTERNS = table(r"""
failure
    cuda.not-ready       `SYSTEM_NOT_READY|SystemNotReady`
    cuda.not-ready       (?i)(?:cuda\w*|cu\w+|error)\b.{0,40}\b(?:returned|code|error|rc=|failed:?)\s*:?\(?`802`\b
    cuda.not-permitted   `CUDA_ERROR_NOT_PERMITTED|cudaErrorNotPermitted` => (?i)^(?!.*(?:multicast|nvls))
    cuda.multicast       `CUDA_ERROR_NOT_PERMITTED` => (?i)nvls
    version.driver       `SYSTEM_DRIVER_MISMATCH|SystemDriverMismatch|ERROR_COMPAT_NOT|ErrorCompatNotSupported`
    version.driver       `CUDA_ERROR_STUB_LIBRARY|ErrorStubLibrary|RequiresNewerDriver|hipErrorInsufficientDriver`
    version.build        `ERROR_NO_BINARY_FOR_GPU|ErrorNoKernelImage|ERROR_UNSUPPORTED_PTX|ErrorUnsupportedPtx`
    version.build        `CUDA_ERROR_INVALID_IMAGE|ErrorInvalidKernelImage|ErrorInvalidDeviceFunction`
    cuda.no-device       `CUDA_ERROR_NO_DEVICE|cudaErrorNoDevice|hipErrorNoDevice|ErrorDevicesUnavailable`
    cuda.no-device       `CUDA_ERROR_DEVICE_UNAVAILABLE|you might not have a CUDA gpu|MPS client failed`
    cuda.no-device       `procedural call between the MPS`
    cuda.invalid-device  `CUDA_ERROR_INVALID_DEVICE|cudaErrorInvalidDevice|hipErrorInvalidDevice`(?![A-Za-z_])
    app.assert           `CUDA_ERROR_ASSERT|cudaErrorAssert|hipErrorAssert`
    cuda.launch          `CUDA_ERROR_LAUNCH_TIMEOUT|cudaErrorLaunchTimeout|hipErrorLaunchTimeOut`
    cuda.xid-hint        `CUDA_ERROR_UNKNOWN|cudaErrorUnknown|hipErrorUnknown|ErrorMisalignedAddress`
    cuda.xid-hint        `CUDA_ERROR_INVALID_PC|cudaErrorInvalidPc|CUDA_ERROR_INVALID_ADDRESS_SPACE`
    cuda.no-peer         `CUDA_ERROR_PEER_ACCESS_NOT_ENABLED`
    cuda.multicast       `cuMulticast|cuMemMulticast` => (?i)cuM(?:em)?ulticast\w+.*(?:fail|error|returned [1-9]|
                         not[ _](?:supported|permitted))
    cuda.multicast       `ulticast` => (?i)^(?!libfabric).*?multicast (?:object|memory|handle|team|binding)
                         .*(?:fail|could not|error)|^(?!libfabric)
                         .*?(?:fail\w*|could not|cannot) .*multicast (?:object|memory|handle|team)
    cuda.illegal         `CUDA_ERROR_ILLEGAL_ADDRESS|cudaErrorIllegalAddress|hipErrorIllegalAddress`
    cuda.launch          `CUDA_ERROR_LAUNCH_FAILED|cudaErrorLaunchFailure|hipErrorLaunchFailure`
    cuda.xid-hint        `CUDA_ERROR_ILLEGAL_INSTRUCTION|cudaErrorIllegalInstruction|cudaErrorHardwareStackError`
    cuda.xid-hint        `CUDA_ERROR_HARDWARE_STACK_ERROR|an illegal instruction was encountered`
    cuda.xid-hint        `error: exception on device|error: hardware `
    cuda.xid-hint        `invalid program counter|on global/shared address space|CUDA_ERROR_MISALIGNED_ADDRESS`
    cuda.xid-hint        `CUDA unknown error - `
    version.driver       `not supported in the installed CUDA driver|CUDA driver is a stub library`
    version.build        `device kernel image is invalid|PTX JIT compil|shared object symbol not found`
    version.build        `hipErrorNoBinaryForGpu|code object for all current devices`
    version.build        `TensileLibrary` => (?i)cannot read|illegal seek|could not|no such
    version.driver       `but this driver is only compatible|HSA_STATUS_ERROR_INCOMPATIBLE`
    torch.oom            `RESULT_ERROR_OUT_OF_DEVICE_MEMORY|RESULT_ERROR_OUT_OF_HOST_MEMORY`
    torch.oom            `MODULE:PT_DEVMEM` => PT_DEVMEM Allocation failed
    cuda.oom             `return value:` => \bcu[A-Z]\w+ return value:\s+2$
    cuda.ecc             `return value:` => \bcu[A-Z]\w+ return value:\s+214$
    cuda.no-peer         `return value:` => \bcu[A-Z]\w+ return value:\s+217$
    cuda.illegal         `return value:` => \bcu[A-Z]\w+ return value:\s+700$
    cuda.launch          `return value:` => \bcu[A-Z]\w+ return value:\s+719$
    torch.oom            `HSA_STATUS_ERROR_OUT_OF_RESOURCES|failed to allocate the necessary resources`
    cuda.xid-hint        `HSA_STATUS_ERROR` => (?:INVALID_PACKET_FORMAT|INVALID_ISA)?(?:.*Aborting with error)?$
    cuda.no-device       `no ROCm-capable device is detected|Unable to open /dev/kfd`
    version.build        `invalid kernel file|shared object initialization failed|named symbol not found`
    version.build        `_VERSION_MISMATCH|_ARCH_MISMATCH|cuDNN version incompatibility` => _STATUS_|version inc
    torch.oom            `_ALLOC_FAILED|_STATUS_INSUFFICIENT_RESOURCES` => \b(?:CU|HIP|ROC|MIOPEN)[A-Z]*_
    torch.no-gpu         `No CUDA GPUs are available|No HIP GPUs are available`
    torch.no-gpu         `No XPU devices are available`
    cuda.bad-call        `too many resources requested for launch|too many blocks in cooperative launch`
    cuda.bad-call        `stream is capturing|previous error during capture|CUDA error: invalid resource handle`
    cuda.bad-call        `CUDA error: |HIP error: ` => error: .*\b(?:\w*captur\w+|graph|
                         already \w+ed|not \w+ed)\b
    cuda.bad-call        `CUDA error: invalid argument|HIP error: invalid argument|CUDA error: invalid config`
    cuda.ecc             `ECC_UNCORRECTABLE|cudaErrorECCUncorrectable|hipErrorECCNotCorrectable`
    cuda.nvlink          `Invalid access of peer GPU memory|CUDA_ERROR_CONTAINED|cudaErrorContained`
    cuda.nvlink          `NVLINK_UNCORRECTABLE|NvlinkUncorrectable|Nvlink error was detected|uncorrectable NVLink`
    cuda.no-peer         `PEER_ACCESS_UNSUPPORTED|PeerAccessUnsupported|PeerAccessNotEnabled`
    cuda.no-peer         `TooManyPeers|TOO_MANY_PEERS`
    cuda.no-peer         `peer access` => (?i)(?:cannot|could not|can't|failed to|unable to) (?:enable|get|open)
                         [ ](?:\w+ )?peer access
    cuda.no-peer         `peer access is not supported`
    cuda.peer-garbled    `Verification error @ element`
    cuda.peer-import     cuda`IpcOpenMemHandle`\b.*(?i:fail|error|invalid)
    imex.handle          `HANDLE_TYPE_FABRIC|HandleTypeFabric` => (?i)fail|error|not[ _](?:supported|permitted)|
                         returned [1-9]
    imex.handle          `abric handle` => (?i)(?:fail\w*|cannot|could not|unable to|error).*fabric handle|fabric
                         [ ]handle.*(?:fail|could not|cannot|error|not permitted)
    imex.handle          `type fabric` => (?i)handle type fabric.*(?:fail|could not|cannot|error|not supported)
    cuda.shared-device   `the same ` => (?i)^(?!.*\b(?:can|could|may|might) (?:lead|cause|result)\b)
                         .*?\b(?:ranks|processes|workers)\b.{0,60}\bthe same (?:CUDA )?(?:GPU|device)\b
                         (?!.*(?:must|should|cannot|can't|avoid|\bif\b))
    cuda.shared-device   `share|both use` => (?i)\branks? \d+ and (?:rank )?\d+\b.{0,20}\b(?:share|both use)\b
                         .{0,12}\b
                         (?:gpu|cuda|device)
doubt
    torch.guessed-gpu    ^(?:.*?\[?[Rr]ank ?(?P<rank>\d+)\]?)?.*`using GPU 0 `(?:
                         to perform barrier|as device used by)
""")
