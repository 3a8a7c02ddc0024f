"""Standard output and standard error, whose readers may have gone: `nccltool runs | head -1`."""

import os
import sys
from typing import TextIO

import click


def say(text: str) -> None:
    """A line on standard error."""
    try:
        click.echo(text, err=True)
    except OSError:  # nobody reads it, or its disk is full
        nobody_reads(sys.stderr)


def nobody_reads(stream: TextIO) -> None:
    """From now on what is written there goes nowhere: the exit code stays the one that the command has found."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
