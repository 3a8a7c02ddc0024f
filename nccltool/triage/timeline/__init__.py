"""What happened in a job, put together from the events of all its logs; in bounded space, whatever their size."""
