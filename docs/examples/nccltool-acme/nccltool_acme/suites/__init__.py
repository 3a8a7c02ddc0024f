"""Suites: NAME.toml for each entry point NAME."""
