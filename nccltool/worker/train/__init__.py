"""Smoke training runs on a rank."""
