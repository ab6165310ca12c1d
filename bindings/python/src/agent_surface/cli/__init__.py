"""The command `agent-surface`: replay a transcript, verify a log, inspect a surface."""
from __future__ import annotations

import argparse
import sys
from typing import List, Optional

from .app import Unusable


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="agent-surface", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    replay = commands.add_parser("replay", help="run a transcript file against an application")
    replay.add_argument("transcript", help="JSON lines: one call, or one conversation, a line")
    replay.add_argument("--app", required=True, help="the application: a file or module, with :NAME where it is not `surface`")
    replay.add_argument(
        "--approve", choices=("ask", "recorded", "all", "none"), default=None,
        help="who decides what needs a person: you, the transcript, or a rule (default: you at a terminal, else the transcript)",
    )  # fmt: skip
    replay.add_argument("--html", metavar="FILE", help="write the timeline as a page that needs nothing else")
    replay.add_argument("--log", metavar="FILE", help="write each request with its result, for `verify`")

    verify = commands.add_parser("verify", help="check again every result in a log or audit file")
    verify.add_argument("log", help="JSON lines: what `replay --log` wrote, or an audit file of a surface")

    inspect = commands.add_parser("inspect", help="print a surface as an agent sees it")
    inspect.add_argument("app", help="the application: a file or module, with :NAME where it is not `surface`")
    inspect.add_argument("--explain", action="store_true", help="say why each capability is shown, disabled or hidden")
    inspect.add_argument("--consumer", default=None, metavar="ID", help="as this consumer sees it; KIND:ID for another kind")
    inspect.add_argument("--json", action="store_true", help="print the document itself")

    chosen = parser.parse_args(arguments)
    try:
        if chosen.command == "replay":
            from .replay import command

            return command(chosen)
        if chosen.command == "verify":
            from .verify import command

            return command(chosen)
        from .inspect import command

        return command(chosen)
    except Unusable as why:
        print(f"agent-surface: {why}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader has seen enough
        sys.stderr.close()
        return 0
