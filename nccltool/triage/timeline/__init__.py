"""What happened in a job, built from the events of all its logs, in bounded memory."""
