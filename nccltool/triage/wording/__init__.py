"""The words of a log, beside its lines: how they are distributed over the failures whose causes are known."""
