"""CUDA graphs: replay a captured call, so that launching it from Python costs nothing."""

import torch

from nccltool.worker.agreement import Agreement
from nccltool.worker.probe.timing import Call


def captured(call: Call, group: Agreement) -> Call:
    """`call` as one replay of a CUDA graph. NCCL must have been used with these buffers before."""
    side = torch.cuda.Stream(group.device)
    side.wait_stream(torch.cuda.current_stream(group.device))
    with torch.cuda.stream(side):  # set-up work may not be part of a capture
        call()
    torch.cuda.current_stream(group.device).wait_stream(side)
    group.settle()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return group.guarded(graph.replay)
