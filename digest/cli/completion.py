"""`digest completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from digest.errors import UsageError


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash:  digest completion bash > ~/.local/share/bash-completion/completions/digest
    zsh:   digest completion zsh > "${fpath[1]}/_digest"
    fish:  digest completion fish > ~/.config/fish/completions/digest.fish
    """  # noqa: D301 - click reads the backspace, which must be one
    completion = get_completion_class(shell)
    if completion is None:
        raise UsageError(f"there is no completion for {shell}")
    click.echo(completion(ctx.find_root().command, {}, "digest", "_DIGEST_COMPLETE").source())
