"""Model parallelism by hand."""
