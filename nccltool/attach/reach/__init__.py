"""Looking at other hosts: by ssh, inside a Slurm job, and inside pods. All hosts at once, each with a deadline."""
