"""LOOK at a host: one source a file, without torch; roots can be replaced by captured trees."""
