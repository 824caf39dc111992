"""The texts that reads returned, stitched where they touch, with the sources of any range of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.backbone.reference.observation import Served


@dataclass(frozen=True)
class Text:
    """A stretch of a document that was read without a gap."""

    document: str
    start: int
    text: str
    served: tuple[Served, ...]

    @property
    def end(self) -> int:
        """Where it ends in its document (code points)."""
        return self.start + len(self.text)

    def sources(self, *ranges: tuple[int, int]) -> tuple[str, ...]:
        """The fewest sources, by first read, that cover the given ranges."""
        found: list[str] = []
        for start, end in ranges:
            covering = [each for each in self.served if each.start <= start and end <= each.end]
            touching = [each for each in self.served if each.start < end and start < each.end]
            chosen = next(
                (each for each in covering if each.source in found), covering[0] if covering else None
            )
            found.extend([chosen.source] if chosen else [each.source for each in touching])
        return tuple(dict.fromkeys(found))


def stitch(served: Iterable[Served]) -> tuple[Text, ...]:
    """Join what was read of each document into stretches, by document and place."""
    ordered = sorted(dict.fromkeys(served), key=lambda each: (each.document, each.start, -each.end))
    texts: list[Text] = []
    for each in ordered:
        last = texts[-1] if texts else None
        if last and last.document == each.document and each.start <= last.end:
            text = last.text + each.text[last.end - each.start :] if each.end > last.end else last.text
            texts[-1] = Text(last.document, last.start, text, (*last.served, each))
        else:
            texts.append(Text(each.document, each.start, each.text, (each,)))
    return tuple(texts)
