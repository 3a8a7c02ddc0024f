"""Links, limits, and ways of a host to the others, which settings cannot mend."""
