"""Handing over to monitoring."""
