"""What a training run will need: memory, communication, and time; and the strategy that suits it."""
