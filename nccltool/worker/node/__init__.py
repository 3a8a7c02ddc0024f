"""A node process: agents, supervisors, the rendezvous."""
