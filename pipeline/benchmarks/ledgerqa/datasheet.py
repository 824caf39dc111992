"""The README that goes with a generated dataset, after "Datasheets for Datasets" (Gebru et al., 2021)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

_TEXT = """# LedgerQA: a datasheet

Generated statistical bulletins, with questions whose answers and evidence are known by construction.
Generator version {version}; {documents:,} documents, {bytes:,} bytes, about {tokens:,} tokens (4 bytes
each); {total:,} questions.

## Motivation

To measure agents that search, read and revise evidence over many documents, and to calibrate judges of what
they did: for every question the places that hold its figures, the places that print outdated ones, and the
computation are known, which no collection of real documents gives. It is part of LongHarness, whose authors
made it.

## Composition

- `documents/` (UTF-8, line feeds): issues of one bulletin, `ledger_bulletin_YYYY_MM.txt`, and circulars
  that correct it, `ledger_circular_YYYY_MM.txt`. How they are made is told in the docstring of
  `pipeline.benchmarks.ledgerqa`, which a reader of the documents may know.
- `questions.jsonl`: `id`, `question`, `kind`, `form` (the variety), `operation`, `operands` (how many),
  `phrasing`.
- `gold.jsonl`, for scorers and judges alone: `answer`; `asked` (unit and decimals); `expression` (for a
  list, one an item, in brackets); `operands` (figure, unit, and what it replaced, with the places that
  print that); `spans` (code points `start:end`), one an operand; `alternates`, the other places that print
  the same; `stale_spans`; `stale_answer` and `stale_expression`, what outdated figures give.
- `manifest.json`: version, parameters, counts, and size and SHA-256 of every document and file.
- It is the whole of what its parameters make, with no splits. It holds no data of persons, and nothing that
  was ever true: funds, figures and issues are invented; names of states, countries and ports are only row
  labels.

| kind | questions | forms |
|---|---|---|
{kinds}

- `single`, `arithmetic` and `list` ask what a named issue prints. `series`, `revision` and `calendar` ask
  for what was reported last, wherever that is. `unit` asks for another unit than is printed, across a
  change of unit, or for figures whose sign matters. `calendar` sets years from January against fiscal
  years, from October.
- Half of the questions of a kind are worded by `built` phrasings, half by `apart` ones: the reference
  policy of LongHarness was written with the first at hand and without the second. Report them apart.

## How it was made

By a pure function of the parameters below: a ledger of figures, revisions and corrections is drawn from the
seed, printed issue by issue, and asked about. No model and no person wrote or checked single questions. A
question is kept if its answer is clear (no rounding tie, no two of a ranking alike), differs from what
outdated figures give, and from what the tables of a like title give.
{noise}
## Uses

Retrieval recall by document and by span; answers by kind and by phrasing; use of outdated evidence (an
answer that is `stale_answer`); agreement of a judge with what is known; performance at any size. Not for:
statements about real statistics, about documents that are laid out otherwise, or about languages other than
English. Figures of systems that were tuned on it say little about systems that were not.

## Limits

Two table layouts; one revision or correction a monthly row at most; corrections only of single months; the
questions of one kind resemble each other. Prose figures answer no question. The generator is public:
whoever wants to can rebuild the gold of a known seed, so use a seed of your own for what matters.

## Distribution and maintenance

Apache-2.0, as the generator. It is kept up with LongHarness: a change that alters any byte raises the
generator's version, and a dataset of another version is refused. There is nothing to correct by hand:
generate it again.

## To verify it

`longharness evaluate benchmark=ledgerqa benchmark.folder=DIR --dry-run` compares every file with the
manifest. This makes it again, byte for byte, on any machine and with any number of processes:

    longharness ledgerqa NEW {overrides}

The parameters:

{parameters}
"""

_NOISE = """
Of a hundred figures in the tables of scanned documents (those that show their pages) {noise_percent} are
misread: a digit becomes a letter that looks like it, or stands apart. The figures that a question rests on,
outdated ones included, never are; therefore the documents depend on the questions too.
"""


def datasheet(manifest: Mapping[str, Any], forms: Iterable[tuple[str, str]]) -> str:
    """The datasheet of a dataset, as Markdown; `forms` are the kind and the form of each question."""
    parameters = manifest["parameters"]
    overrides = (f"benchmark.{name}={_written(value)}" for name, value in parameters.items())
    return _TEXT.format(
        **{key: manifest[key] for key in ("version", "documents", "bytes", "tokens")},
        total=sum(manifest["questions"].values()),
        kinds="\n".join(_kinds(manifest["questions"], Counter(forms))),
        noise=_NOISE.format(**parameters) if parameters["noise_percent"] else "",
        overrides=" ".join(overrides),
        parameters="\n".join(f"- `{name}`: {_written(value)}" for name, value in parameters.items()),
    )


def _kinds(questions: Mapping[str, int], forms: Mapping[tuple[str, str], int]) -> Iterable[str]:
    for kind, count in questions.items():
        listed = (f"`{form}` {number}" for (of, form), number in sorted(forms.items()) if of == kind)
        yield f"| `{kind}` | {count} | {', '.join(listed)} |"


def _written(value: Any) -> str:
    return f"'[{','.join(value)}]'" if isinstance(value, list) else str(value)
