"""Tests of nccltool.plan."""
