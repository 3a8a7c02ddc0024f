"""Causes that hold a job up, by what shows them. Each module yields culprits of its rows of the decision table."""
