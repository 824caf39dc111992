"""A run's Parquet tables: written in parts, of which those count that a commit record names.

`tables/TABLE/part-*.parquet` are the parts, `tables/commits/NAME.json` the records. A part that no record
names (a crash came between) is no part of the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.errors import RunError
from pipeline.runs.folder import RunFolder, replaced, write_json
from pipeline.runs.schemas import GOLD, PLAN, PLANTED, TABLES

__all__ = [
    "GOLD",
    "PLAN",
    "TABLES",
    "commit",
    "commits",
    "drop_episodes",
    "from_rows",
    "prune",
    "read",
    "read_batches",
    "read_gold",
    "read_plan",
    "read_planted",
    "replace",
    "write_file",
    "write_part",
]

Row = Mapping[str, Any]


def from_rows(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    """Return `rows` as a table. Raises `KeyError` for a row whose keys differ from the columns."""
    names = set(schema.names)
    for row in rows:
        if row.keys() != names:  # pyarrow would drop the unknown and null the missing, in silence
            raise KeyError(f"columns of {_name(schema)} and of the row differ: {names ^ row.keys()}")
    return pa.Table.from_pylist(list(rows), schema=schema)


def write_file(path: Path, table: pa.Table) -> None:
    """Write `table` to `path`, zstd-compressed, whole or not at all."""
    with replaced(path) as file:
        pq.write_table(table, file, compression="zstd", compression_level=3)


def write_part(folder: Path, table: str, rows: Sequence[Row] | pa.Table) -> str:
    """Write a new part of `table` and return its name. It counts once `commit` names it."""
    schema = TABLES[table]
    content = rows if isinstance(rows, pa.Table) else from_rows(rows, schema)
    name = f"part-{uuid4().hex}.parquet"
    target = RunFolder(folder).tables / table
    target.mkdir(parents=True, exist_ok=True)
    write_file(target / name, content.cast(schema).replace_schema_metadata(schema.metadata))
    return name


def commit(folder: Path, name: str, parts: Mapping[str, str], **facts: Any) -> None:
    """Make `parts` (table → part) count, all at once, by the record `name`, replacing one of that name."""
    target = RunFolder(folder).tables / "commits"
    target.mkdir(parents=True, exist_ok=True)
    write_json(target / f"{name}.json", {"parts": dict(parts), **facts})


def commits(folder: Path) -> list[dict[str, Any]]:
    """All commit records, in the order of their names. Raises `RunError` if one can't be read."""
    return [_record(path) for path in _records(folder)]


def _records(folder: Path) -> list[Path]:
    return sorted((RunFolder(folder).tables / "commits").glob("*.json"))


def _record(path: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = orjson.loads(path.read_bytes())
        if not all(isinstance(part, str) for part in record["parts"].values()):
            raise TypeError("parts must be names")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path} is damaged ({error!r}): delete it, and its episodes are made anew") from error
    return record


def replace(folder: Path, table: str, rows: Sequence[Row] | pa.Table) -> None:
    """Replace the whole of `table` (one that is derived, such as `scores`) by `rows`, at once."""
    commit(folder, table, {table: write_part(folder, table, rows)})
    prune(folder, [table])


def drop_episodes(folder: Path, episodes: Collection[str]) -> None:
    """Take all rows of `episodes` out of every table, a commit at a time. Only for who holds the lease."""
    gone = pa.array(sorted(episodes), pa.string())
    for path in _records(folder):
        record = _record(path)
        of = {table: part for table, part in record["parts"].items() if "episode_id" in TABLES[table].names}
        known = record.get("episodes")
        if not of or (known is not None and not known.keys() & set(episodes)):
            continue
        parts = dict(record["parts"])
        for table, part in of.items():
            rows = _read_file(RunFolder(folder).tables / table / part, TABLES[table])
            stays = rows.filter(pc.invert(pc.is_in(rows["episode_id"], gone)))
            parts[table] = write_part(folder, table, stays)
        facts = {name: value for name, value in record.items() if name not in ("parts", "episodes")}
        if known is not None:
            facts["episodes"] = {name: value for name, value in known.items() if name not in episodes}
        commit(folder, path.stem, parts, **facts)
    prune(folder)


def prune(folder: Path, names: Iterable[str] = tuple(TABLES)) -> int:
    """Delete the parts that no commit record names, unclosed ones too, and return how many there were.

    Only for whoever holds the run's lease: a part in the making is not named yet.
    """
    named = {(table, part) for record in commits(folder) for table, part in record["parts"].items()}
    strays = [
        path
        for table in names
        for path in (RunFolder(folder).tables / table).glob("*")
        if (table, path.name) not in named
    ]
    for path in strays:
        path.unlink()
    return len(strays)


def read(folder: Path, table: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Return `table` of the run in `folder`: an empty one if nothing has been committed.

    Raises `RunError` for an unknown table and for a part that is missing or unreadable.
    """
    if table not in TABLES:
        raise RunError(f"there is no table {table!r}; tables: {', '.join(TABLES)}")
    schema = TABLES[table] if columns is None else pa.schema([TABLES[table].field(name) for name in columns])
    parts = [record["parts"][table] for record in commits(folder) if table in record["parts"]]
    found = [_read_file(RunFolder(folder).tables / table / part, schema) for part in parts]
    return pa.concat_tables([schema.empty_table(), *found])


def read_batches(folder: Path, columns: Mapping[str, Sequence[str]]) -> Iterator[dict[str, pa.Table]]:
    """Yield `columns` of some tables of episodes, a commit at a time: all rows of an episode lie in one.

    A run of any size is read in the memory of a batch. Raises `RunError` for a part that can't be read.
    """
    schemas = {
        table: pa.schema([TABLES[table].field(name) for name in names]) for table, names in columns.items()
    }
    for record in commits(folder):
        if "episodes" in record["parts"]:
            yield {
                table: _read_file(RunFolder(folder).tables / table / record["parts"][table], schema)
                for table, schema in schemas.items()
            }


def read_plan(folder: Path) -> pa.Table:
    """Return `plan.parquet`. Raises `RunError` if there is none."""
    return _read_file(RunFolder(folder).plan, PLAN)


def read_gold(folder: Path) -> pa.Table:
    """Return `gold.parquet`. Raises `RunError` if there is none."""
    return _read_file(RunFolder(folder).gold, GOLD)


def read_planted(folder: Path) -> pa.Table:
    """Return `planted.parquet`. Raises `RunError` if there is none."""
    return _read_file(RunFolder(folder).planted, PLANTED)


def _read_file(path: Path, schema: pa.Schema) -> pa.Table:
    try:
        # Given the schema, a column that is null throughout keeps its type.
        return pq.read_table(path, columns=schema.names, schema=schema, partitioning=None)
    except (OSError, pa.ArrowInvalid) as error:
        raise RunError(f"{path} can't be read: {error}; restore it, or start a new run") from error


def _name(schema: pa.Schema) -> str:
    return str(schema.metadata[b"longharness.table"].decode())
