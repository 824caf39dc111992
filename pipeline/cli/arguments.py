"""Arguments that several verbs share."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def add_overrides(parser: ArgumentParser, composed: bool = True) -> None:
    """Add `overrides`, `--config-dir` and, for a verb that composes a configuration, `--cfg job`."""
    parser.add_argument(
        "overrides",
        nargs="*",
        default=[],  # with one, argparse does not call it required
        metavar="KEY=VALUE",
        help="configuration, e.g. harness.budget.turns=20",
    )
    add_config_dirs(parser)
    if composed:
        parser.add_argument(
            "--cfg", choices=["job"], help="print the resolved configuration as YAML, and do nothing else"
        )


def add_config_dirs(parser: ArgumentParser) -> None:
    """Add `--config-dir DIR`, as often as one likes."""
    parser.add_argument(
        "--config-dir",
        dest="config_dirs",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="search this folder for options of config groups, too",
    )


def add_json(parser: ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="machine-readable output on stdout")


def add_documents(parser: ArgumentParser) -> None:
    """Add `--documents DIR`, once or more."""
    parser.add_argument(
        "--documents",
        type=Path,
        action="append",
        required=True,
        metavar="DIR",
        help="a folder; all text, PDF and HTML files below it are documents (repeat it for several)",
    )


def print_config(config: Mapping[str, Any]) -> None:
    """Print a resolved configuration as YAML (`--cfg job`)."""
    import yaml

    print(yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True), end="")


def print_json(value: Any) -> None:
    """Print one JSON value on a line."""
    import orjson

    print(orjson.dumps(value).decode())
