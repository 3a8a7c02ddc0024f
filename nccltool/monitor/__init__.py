"""Runs as metrics: files, push gateway, HTTP, alerts."""
