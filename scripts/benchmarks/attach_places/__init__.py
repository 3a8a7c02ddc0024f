"""Where the jobs of `scripts/bench attach_far` run, and from where they are looked at: one file a place."""
