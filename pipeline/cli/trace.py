"""Run the runtime over given responses, without a model, and print what each turn leads to.

A response file has one JSON value a line: a string is the text of a reply, an object is sent as it is.

examples:
  longharness trace --documents docs --responses replies.jsonl
  longharness trace --documents docs --responses replies.jsonl harness=append_only --json
  longharness trace --documents docs --responses replies.jsonl task.answer_format=letter
  longharness trace --documents docs --responses replies.jsonl --provenance  # what the answer rests on
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from pipeline.cli.arguments import add_documents, add_json, add_overrides, print_config, print_json
from pipeline.errors import UnusableInput
from pipeline.harness.turn import Reply, Turn


def add_arguments(parser: ArgumentParser) -> None:
    """Add this verb's arguments."""
    add_documents(parser)
    parser.add_argument(
        "--responses", type=Path, required=True, metavar="FILE", help="the replies, one JSON value a line"
    )
    add_provenance(parser)
    add_json(parser)
    add_overrides(parser)


def add_provenance(parser: ArgumentParser) -> None:
    """Add `--provenance`."""
    parser.add_argument(
        "--provenance",
        action="store_true",
        help="instead of the turns, what the answer rests on: computes, evidence, sources",
    )


def run(arguments: Namespace) -> int:
    """Print one turn after the other (contract, section 9); 0 whatever the agent did.

    Raises `UnusableInput` for arguments, documents or responses that can't be used.
    """
    from pipeline.config import compose_harness

    config = compose_harness(arguments.overrides, arguments.config_dirs)
    if arguments.cfg:
        print_config(orjson.loads(orjson.dumps(asdict(config))))
        return 0
    replies = read_replies(arguments.responses)

    from pipeline.corpus import build
    from pipeline.corpus.conversion import readable
    from pipeline.harness.config import check
    from pipeline.harness.environment import Environment
    from pipeline.harness.replay import turns
    from pipeline.paths import cache_dir
    from pipeline.protocols import AnswerFormat, TaskView

    check(config.harness)
    corpus = build(readable(arguments.documents, cache_dir()), config.corpus, None)
    task = TaskView("trace", "", AnswerFormat(config.task.answer_format.value))
    print_turns(turns(Environment(config.harness, corpus, task), replies), arguments)
    return 0


def print_turns(turns: Iterable[Turn], arguments: Namespace) -> None:
    """Print turns, or what the answer rests on, to be read by a person or by a program."""
    from pipeline.analysis.provenance import provenance
    from pipeline.harness.trace import as_json

    if arguments.provenance:
        graph = provenance(event for turn in turns for event in turn.log)
        if arguments.json:
            print_json(graph.as_json())
        else:
            print("\n".join(graph.lines()))
        return
    for turn in map(as_json, turns):
        if arguments.json:
            print_json(turn)
        else:
            print("\n".join(readable(turn)), end="\n\n")


def read_replies(path: Path) -> list[Reply]:
    """Read a file of responses. Raises `UnusableInput`, naming the line that can't be used."""
    try:
        lines = path.read_bytes().decode().split("\n")
    except OSError as error:
        raise UnusableInput(f"--responses {path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UnusableInput(f"--responses {path} is not UTF-8: at byte {error.start}") from error
    return [_reply(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _reply(path: Path, number: int, line: str) -> Reply:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise UnusableInput(f"{path}, line {number} is not JSON: {error}") from error
    if isinstance(value, str):
        return Reply(value)
    if isinstance(value, dict):
        return Reply(line.strip())
    raise UnusableInput(f"{path}, line {number} is neither a JSON string nor an object: {line[:60]}")


def readable(turn: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a turn as a person reads them: its observation, and what it changed."""
    yield turn["observation"]
    yield from (f"  log: {_pairs(event)}" for event in turn["log"])
    if turn["conclusion"] is not None:
        yield f"  conclusion: {_pairs({name: len(items) for name, items in turn['conclusion'].items()})}"
    yield f"  left: {_pairs(turn['budget'])}; status {turn['status']}"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())
