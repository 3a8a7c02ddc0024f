"""`python -m nccltool` is the same as `nccltool`."""

from nccltool.cli import main

if __name__ == "__main__":
    main()
