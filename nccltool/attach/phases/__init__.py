"""What a rank does now, told from the stacks of its threads."""
