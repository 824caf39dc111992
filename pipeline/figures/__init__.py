"""Numbers as documents write them: read from a text, found again in others, compared with computed values.

Pure functions over strings, for extensions 7.1, 7.2 and 7.7 of the contract. What the harness makes of a
number that isn't found is its own affair.

Libraries that read numbers out of text do another job: price-parser reads one price a string, quantulum3
guesses units with a classifier, text2num reads number words. None keeps positions with footnote marks, a
table's unit line, accounting signs and broken digit groups, or has bounds on hostile text.
"""

from pipeline.figures.answers import nearest, rounds_to
from pipeline.figures.grounds import Grounds, Place, Text, free
from pipeline.figures.quotations import quotations
from pipeline.figures.reading import Figure, figures
from pipeline.figures.units import unit_words

__all__ = [
    "Figure",
    "Grounds",
    "Place",
    "Text",
    "figures",
    "free",
    "nearest",
    "quotations",
    "rounds_to",
    "unit_words",
]
