"""The README that goes with a generated dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TEXT = """# LedgerQA

Generated statistical bulletins with questions whose answers and evidence are known by construction
(generator version {version}; about {tokens:,} tokens, estimated at 4 bytes a token).

- **What it is for**: measuring agents that search, read and revise evidence over many documents, and
  calibrating judges: for every question the gold spans, the outdated spans and the expression are known.
- **What it is not**: real statistics. Funds, figures and issues are invented; names of states, countries and
  ports are only row labels. Prose figures answer no question.
- **Documents** (`documents/`, UTF-8): issues of one bulletin, `ledger_bulletin_YYYY_MM.txt`. Their tables,
  revisions, restated tables, errata notes and changes of unit are described in the docstring of
  `pipeline.benchmarks.ledgerqa`.
- **Questions** (`questions.jsonl`): id, question, kind, form, operation, operands, phrasing. The reference
  policy was written with the `built` phrasings at hand, without the `apart` ones: report them apart.
- **Gold** (`gold.jsonl`): answer, expression, operands, spans and their alternates (code points `start:end`),
  `stale_spans` (what a revision replaced) and `stale_answer` (what they give).
- **Known limits**: two table layouts; each monthly row has one revision or erratum at most; English only;
  no scanning noise.
- **Terms**: Apache-2.0, as the generator.

Made again, byte for byte, from these parameters:

{parameters}
"""


def datasheet(version: int, parameters: Mapping[str, Any], tokens: int) -> str:
    """The datasheet of a dataset, as Markdown."""
    listed = "\n".join(f"- `{name}`: {value}" for name, value in parameters.items())
    return _TEXT.format(version=version, tokens=tokens, parameters=listed)
