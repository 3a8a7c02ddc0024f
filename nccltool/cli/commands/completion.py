"""nccltool completion."""

import click

from nccltool.cli.command import ToolCommand
from nccltool.cli.tree import Argument

_VARIABLE = "_NCCLTOOL_COMPLETE"
_BASH = """\
_nccltool_completion() {
    local IFS=$'\\n' words=() word before cut type value i
    # Readline also cuts words at = and :. nccltool gets them whole; the answer is what follows the last cut.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        before="${COMP_WORDS[i - (i > 0)]}"
        if ((i > 1)) && [[ "$word" == [=:] || "$before" == [=:] ]]; then
            words[-1]+="$word"
        else
            words+=("$word")
        fi
    done
    cut="${words[-1]}"
    [[ "$word" == [=:] ]] || cut="${cut%"$word"}"
    COMPREPLY=()
    while IFS=, read -r type value; do
        case "$type" in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                value="${value#"$cut"}"
                # names of runs and baselines are files' names: Readline quotes only those that it lists itself
                [[ "$value" != *[!A-Za-z0-9_.,:=/@%+-]* ]] || printf -v value %q "$value"
                COMPREPLY+=("$value")
                ;;
        esac
    done < <(COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1)) _NCCLTOOL_COMPLETE=bash_complete "$1")
}
complete -o nosort -F _nccltool_completion nccltool
"""


@click.command("completion", cls=ToolCommand, short_help="Print a completion script for a shell")
@click.argument("shell", cls=Argument, type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print a script that completes commands, options, and values in SHELL.

    bash: add eval "$(nccltool completion bash)" to ~/.bashrc. zsh: add eval "$(nccltool completion zsh)" to
    ~/.zshrc. fish: save the output as ~/.config/fish/completions/nccltool.fish.
    """
    if shell == "bash":
        click.echo(_BASH, nl=False)
        return
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None  # the choices are shells that click knows
    click.echo(made(click.get_current_context().find_root().command, {}, "nccltool", _VARIABLE).source())
