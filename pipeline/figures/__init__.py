"""Numbers as documents write them: read from a text, found again in others, compared with a computed value.

Pure functions over strings, for extensions 7.1, 7.2 and 7.7 of the contract. What the harness makes of a number
that isn't found is its own affair.
"""

from pipeline.figures.answers import nearest, rounds_to
from pipeline.figures.grounds import Grounds, Place, free, quotations
from pipeline.figures.reading import Figure, figures
from pipeline.figures.units import unit_words

__all__ = [
    "Figure",
    "Grounds",
    "Place",
    "figures",
    "free",
    "nearest",
    "quotations",
    "rounds_to",
    "unit_words",
]
