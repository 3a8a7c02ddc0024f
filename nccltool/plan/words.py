"""The words that options of `nccltool plan` take, for the command line, which imports nothing heavy."""

PRECISION_WORDS = ("mixed", "amp", "megatron", "bf16", "fp32")
OPTIMIZER_WORDS = ("adamw", "adamw-fused", "adamw-8bit", "sgd-momentum", "sgd")
RECOMPUTE_WORDS = ("auto", "none", "selective", "full")
STRATEGY_WORDS = ("ddp", "zero1", "zero2", "fsdp", "hsdp")
