"""The command line: `longharness VERB [overrides…]`.

Every verb is a module here of its own name, imported only when it is called: a docstring (its help; examples
after the first paragraph), `add_arguments(parser)`, `run(arguments) -> int` and, where the same command goes
on after Ctrl-C, `RESUMED`, which says so. Exit status: 0 done, 1 something is owed or failed, 2 unusable
input. Results go to stdout, progress and errors to stderr.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from pipeline.errors import LongHarnessError, UnusableInput

VERBS = {
    "evaluate": "plan, run or resume, score, print the table: the main job",
    "status": "progress of a run, from another terminal",
    "score": "score a run again without a model, or bare answers by a scorer",
    "compare": "two arms or two runs, episode by episode: where they part, who scored more",
    "replay": "rebuild recorded episodes and compare every state with the record",
    "trace": "the runtime over given responses, without a model",
    "index": "build the index of a folder of documents, or look it up",
    "search": "search a folder of documents as an agent would",
    "ledgerqa": "generate documents with questions, gold answers and gold evidence",
    "plant": "episodes whose truth is known, to calibrate a judge with",
    "serve": "start a backbone and keep it up, for other runs and tools",
    "doctor": "what works on this machine, and how to mend what doesn't",
}
OWED, UNUSABLE = 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if not words or words[0] in ("-h", "--help"):
            print(overview())
            return 0 if words else UNUSABLE
        if words[0] == "--version":
            print(version())
            return 0
        if words[0] not in VERBS:
            print(f"longharness: {unknown_verb(words[0])}", file=sys.stderr)
            return UNUSABLE
        return call(words[0], words[1:])
    except SystemExit as leaving:  # argparse: help was shown, or the arguments can't be used
        return leaving.code if isinstance(leaving.code, int) else UNUSABLE


def overview() -> str:
    """The help of `longharness` itself."""
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {verb:{width}}  {line}" for verb, line in VERBS.items())
    return (
        "usage: longharness VERB [options] [overrides…]\n\n"
        "Run, measure and audit agents over document collections far larger than a context window.\n\n"
        f"{verbs}\n\n"
        "longharness VERB --help shows a verb's options and examples; --version the version.\n"
        "Exit status: 0 done, 1 something is owed or failed, 2 unusable input."
    )


def version() -> str:
    """The installed version."""
    from importlib.metadata import version

    return f"longharness {version('longharness')}"


def unknown_verb(word: str) -> str:
    """Say that there is no such verb, and which one was meant."""
    from difflib import get_close_matches

    close = get_close_matches(word, VERBS, n=1, cutoff=0.4)
    hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(VERBS)}"
    return f"there is no verb {word!r}; {hint}"


def unknown_options(words: Sequence[str], known: argparse.ArgumentParser) -> str:
    """Say which options there are not, and which ones were meant."""
    from difflib import get_close_matches

    options = [option for action in known._actions for option in action.option_strings]
    close = [get_close_matches(word.partition("=")[0], options, n=1, cutoff=0.6) for word in words]
    meant = dict.fromkeys(option for found in close for option in found)
    hint = f"; did you mean {' '.join(meant)}?" if meant else ""
    return f"unrecognized arguments: {' '.join(words)}{hint}"


def call(verb: str, words: Sequence[str]) -> int:
    """Run one verb. Errors of the user's input are said in a line; `-v` adds where they came from."""
    module = import_module(f"pipeline.cli.{verb}")
    made = parser(verb, module)
    arguments, unknown = made.parse_known_intermixed_args(words)
    if unknown:
        made.error(unknown_options(unknown, made))
    try:
        status: int = module.run(arguments)
        if sys.stdout:  # there is none where it was closed before we began
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        resumed = getattr(module, "RESUMED", None)
        print(f"longharness {verb}: interrupted" + (f"; {resumed}" if resumed else ""), file=sys.stderr)
        return OWED
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OWED
    except LongHarnessError as error:
        if arguments.verbose:
            import traceback

            traceback.print_exc()
        print(f"longharness {verb}: {error}", file=sys.stderr)
        return UNUSABLE if isinstance(error, UnusableInput) else OWED
    except OSError as error:  # a disk full, a folder that can't be written to: nothing that we did wrong
        if arguments.verbose:
            import traceback

            traceback.print_exc()
        where = f"{error.filename}: " if error.filename else ""
        print(f"longharness {verb}: {where}{error.strerror or error}; -v shows where from", file=sys.stderr)
        return OWED


def parser(verb: str, module: ModuleType) -> argparse.ArgumentParser:
    """Build a verb's parser: description and examples from its module's docstring."""
    description, _, examples = (module.__doc__ or "").strip().partition("\n\n")
    made = argparse.ArgumentParser(
        f"longharness {verb}",
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("-v", "--verbose", action="store_true", help="show where an error came from")
    module.add_arguments(made)
    return made
