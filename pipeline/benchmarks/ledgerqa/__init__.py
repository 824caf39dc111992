"""LedgerQA: generated statistical bulletins with questions whose evidence is known by construction.

How the documents are made (a reader of them may rely on this; nothing here tells an answer):

- An **issue** is `ledger_bulletin_YYYY_MM.txt`; it opens with `LEDGER BULLETIN`, its date and a list of
  contents. Some are scans and show their pages (`--- PAGE n ---` on a line of its own). A blank line
  separates blocks.
- A **table** is: a title line `TABLE CODE-n.—Title`, a unit line in parentheses (`(In thousands of dollars)`,
  `(Quarter ended March 1987; in millions of dollars)`), a pipe table, and notes (`Source: …`, `1/ …`,
  `r Revised.`), each after a blank line. Its code and title are the same in all issues. Titles end in the
  accounting basis; tables that differ in it alone are different tables, with other figures.
- The **header** has two levels joined by ` > ` in some tables; labels may carry a footnote mark (` 1/`).
- **Monthly tables** print four fiscal years (October to September; sums of the months as then known), then
  the last 6, 9 or 12 months before the issue's date. Only the first month and each January name their year:
  `1986-October`, `November`, …, `1987-January`. The last column is the total of the others. No calendar year
  is ever printed.
- **Signs**: in tables of net advances, whose unit line says so, net repayments are below zero: with a minus
  (`-2458`), or, in some tables, in parentheses (`(2458)`), notes included.
- **Cross tables** print entities by columns for the period in their unit line, with a total row and column.
- **Revisions**: a changed figure, and the totals it moves, carry `r` and thousands commas in the issue that
  changes them (`2,458 r`), and are printed plainly afterwards. A cross table may be printed again in the next
  issue, its title ending in `, Restated`, with the period that it is for in its unit line.
- **Errata**: a misprint found soon after a month has left the tables is corrected by a paragraph under
  `Errata and Corrections` of a later issue, with the new and the old figure and total, in the unit of that
  time. Fiscal years printed from then on contain the corrected figure, with `r` at first.
- **Circulars**: one that is found later, a year or two after the month has left the tables, is corrected
  in no bulletin but in `ledger_circular_YYYY_MM.txt`, in other words of the same contents. A circular opens
  with `LEDGER CIRCULAR` and its date, which is an issue's; that issue's fiscal years contain the correction.
- **Units**: some monthly tables change, announced in the issue that does it, from thousands to millions with
  three decimals, so that the figures are the same to the last digit.
- **Noise**, where it is asked for: in scans, figures of tables are misread, a digit as the letter that looks
  like it (`O`, `l`, `S`, `B`) or apart from the others (`24 58`). A misread figure is never a number in one
  piece, so nothing reads as another figure than was printed; none that a question rests on is misread.
"""

from pipeline.benchmarks.ledgerqa.config import Kind, LedgerQAConfig
from pipeline.benchmarks.ledgerqa.dataset import Manifest, generate
from pipeline.benchmarks.ledgerqa.formats import answer_format
from pipeline.benchmarks.ledgerqa.loading import Facts, facts, load

__all__ = ["Facts", "Kind", "LedgerQAConfig", "Manifest", "answer_format", "facts", "generate", "load"]
