"""Counts what torch calls and keeps in a step of a planned layout, in one process with a fake process group."""
