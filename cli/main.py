"""The command `rx`: find the subcommand, import only that, and turn its outcome into an exit status."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from importlib import import_module

import click

from ..lang.cells import shown
from .status import INTERRUPTED

# For each command: its module and function, and its line in `rx --help`.
COMMANDS = {
    "check": ("rxlang.cli.check:check", "Decide every assertion of programs, without running them."),
    "run": ("rxlang.cli.run:run", "Check a program, then run it."),
    "desugar": ("rxlang.cli.desugar:desugar", "Print the core program of a file."),
    "shapes": ("rxlang.cli.shapes:shapes", "Print the shape and dtype of each binding."),
    "infer": ("rxlang.cli.infer:infer", "Print the shapes of every value of an ONNX model, and write them into it."),
    "import": ("rxlang.cli.import_:import_", "Write an ONNX model as an Rx program."),
    "export": ("rxlang.cli.export:export", "Write a function of a program as an ONNX model."),
    "prove": ("rxlang.cli.prove:prove", "Ask the solver questions about sizes, one a line."),
    "fmt": ("rxlang.cli.fmt:fmt", "Format programs in the canonical layout."),
    "lsp": ("rxlang.cli.lsp:lsp", "Serve an editor: diagnostics, hints, completion and more."),
    "explain": ("rxlang.cli.explain:explain", "Show the page about a diagnostic."),
}

# The variable that a shell sets to request completion.
COMPLETE = "_RX_COMPLETE"
BROKEN_PIPE = 141
UNWRITTEN = 2
# The packages needed to run programs; checking alone needs none of them.
_ARRAYS = {"numpy": "NumPy", "ml_dtypes": "ml_dtypes"}
# The errors of an output that accepts no more data.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Commands(click.Group):
    """A group that imports each command when it is called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(click.UsageError.exit_code)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS and ctx.resilient_parsing:
            return None
        if cmd_name not in COMMANDS:
            ctx.fail(_no_command(cmd_name))
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _no_command(name: str) -> str:
    from difflib import get_close_matches  # few names are wrong

    if os.path.exists(name):
        return f"{name!r} is no command: `rx check {name}` checks it"
    near = get_close_matches(name, COMMANDS, 1)
    return f"no command is called {name!r}" + (f": is {near[0]!r} meant?" if near else "")


def _show_version(ctx: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(f"rx {import_module('rxlang.lang.installed').__version__}")
        ctx.exit()


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-V", "--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version, help="Show the version."
)
def rx() -> None:
    """Rx tells you, before a tensor program runs, which of its shapes cannot work, and why."""


def main() -> None:
    asked = os.environ.get(COMPLETE)
    status = _complete(asked) if asked else invoke(sys.argv[1:])
    gc.freeze()  # else Python would scan all loaded objects again at exit
    sys.exit(status)


def _complete(asked: str) -> int:
    from click.shell_completion import shell_complete  # only shells request it

    return shell_complete(rx, {}, "rx", COMPLETE, asked)


def invoke(arguments: list[str]) -> int:
    """Run one command line and return the exit status. A command returns its status, or None for 0."""
    try:
        _stand_in_for_closed_streams()
        _never_fail_on_encoding()
        with rx.make_context("rx", arguments) as context:
            status = rx.invoke(context)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.UsageError as wrong:
        click.UsageError(shown(wrong.format_message()), wrong.ctx).show()
        return wrong.exit_code
    except click.ClickException as wrong:
        wrong.show()
        return wrong.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return BROKEN_PIPE
    except ModuleNotFoundError as wrong:
        if wrong.name not in _ARRAYS:
            raise
        print(
            f"rx: this needs {_ARRAYS[wrong.name]}, which is not installed: pip install {wrong.name}", file=sys.stderr
        )
        return click.UsageError.exit_code
    except OSError as wrong:
        if wrong.errno not in _FULL:
            raise
        print(f"rx: the output cannot be written: {wrong.strerror}", file=sys.stderr)
        _drop_output()
        return UNWRITTEN


def _stand_in_for_closed_streams() -> None:
    """Replace streams that were closed before Python started (they are None): reads give nothing, writes are discarded."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _never_fail_on_encoding() -> None:
    """Print the escape of a character that the terminal cannot encode."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Discard the remaining output after the reader has gone, so that exit does not flush it into a closed pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.closed:
            os.dup2(nowhere, stream.fileno())
