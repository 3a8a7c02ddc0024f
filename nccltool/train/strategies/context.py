"""Context parallelism (Ulysses)."""
