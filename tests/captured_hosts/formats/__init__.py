"""What the kernel and drivers write, a part of the tree in each module."""
