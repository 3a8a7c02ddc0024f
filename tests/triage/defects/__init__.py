"""Tests of the catalog of known defects."""
