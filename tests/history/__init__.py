"""Tests of nccltool.history."""
