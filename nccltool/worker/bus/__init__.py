"""The bus of a run: keys and values that its processes share. Only who knows the run's secret takes part."""
