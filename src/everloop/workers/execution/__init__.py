"""Running tasks: the ports of processes, workspaces and runners, and the scheduler over them."""
