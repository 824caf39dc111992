"""Documents that aren't text, written as text: PDF and HTML files of a folder, through the extra `documents`.

Pages begin with `--- PAGE n ---`; tables are pipe tables (HTML) or stand in columns (PDF), as `tables` and
`rows` read them.
"""

from pipeline.corpus.conversion.mirror import readable

__all__ = ["readable"]
