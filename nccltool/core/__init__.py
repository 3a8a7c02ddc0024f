"""What every room stands on: findings, verdicts, units, text, documents, the run directory."""
