"""The node process: imports torch once, and forks everything of its node from there.

Standard input: the job, one line of JSON; later the runner's answers. Standard output: events.
"""

from nccltool.worker import node

if __name__ == "__main__":
    node.main()
