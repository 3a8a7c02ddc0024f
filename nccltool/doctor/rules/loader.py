"""The dynamic loader: folders with libraries that are only for linking."""

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_text


@for_text("PLG016", "warning", "LD_LIBRARY_PATH", covers=())
def stubs_on_the_path(_: JudgedHost, variable: Variable, text: str) -> Results:
    """LD_LIBRARY_PATH contains a folder of CUDA's stub libraries.

    Why: The stubs of libcuda and libnvidia-ml are for linking. A program that loads one reports that the driver
    is a stub library or that NVML cannot be initialized, and NCCL fails.
    Example: LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs
    Instead: take the folder out of LD_LIBRARY_PATH; give it to the linker with -L
    Source: CUDA runtime API, cudaErrorStubLibrary; CUDA installation guide
    """
    stubs = next((word for word in text.split(":") if word.rstrip("/").endswith("/stubs")), None)
    if stubs:
        kept = ":".join(word for word in text.split(":") if not word.rstrip("/").endswith("/stubs"))
        message = f"{escaped(stubs[:80])} holds stubs, which do not work at run time"
        remedy = "take the folder out of the list"
        fix = report.export(variable.name, kept) if kept else report.unset(variable)
        yield report.about(variable, message, remedy, part=stubs, fix=fix)
