"""Terms of many passages at once: columns of bytes in, columns of term numbers out.

The regular expression of `tokens` is run once for each distinct string between two blanks, not for each
occurrence. What it would never join is blanked first, in bulk, so that few distinct strings are left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.corpus.tokens import fold, split

_OTHER, _LETTER, _DIGIT, _COMMA, _POINT, _HYPHEN, _APOSTROPHE = range(7)


def _fold_table() -> np.ndarray:
    table = np.full(256, ord(" "), np.uint8)
    for byte in range(256):
        character = chr(byte).lower()
        if byte >= 0x80:
            table[byte] = byte
        elif character.isalnum() or character in ",.-'%":
            table[byte] = ord(character)
    return table


def _class_table() -> np.ndarray:
    table = np.full(256, _OTHER, np.uint8)
    table[0x80:] = _LETTER
    table[ord("a") : ord("z") + 1] = _LETTER
    table[ord("0") : ord("9") + 1] = _DIGIT
    for character, kind in zip(",.-'", (_COMMA, _POINT, _HYPHEN, _APOSTROPHE), strict=True):
        table[ord(character)] = kind
    return table


_NUMERAL = r"^(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?$"

_FOLD = _fold_table()
_CLASS = _class_table()


def occurrences(rows: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray, pa.Array]:
    """Return every term occurrence in `rows` (UTF-8 texts): its row, its term, and the distinct terms.

    Equal to running `tokens.terms` on each row.
    """
    folded = [row if row.isascii() else fold(row.decode()).encode() for row in rows]
    cuts = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in folded], out=cuts[1:])
    chunks = _blank(_FOLD[np.frombuffer(b"".join(folded), np.uint8)])
    texts = pa.LargeStringArray.from_buffers(len(rows), pa.py_buffer(cuts), pa.py_buffer(chunks))
    pieces = pc.ascii_split_whitespace(texts)
    strings = pc.dictionary_encode(pieces.flatten())
    row = np.repeat(np.arange(len(rows), dtype=np.int32), np.diff(pieces.offsets.to_numpy()))
    code = strings.indices.to_numpy()
    terms, starts, distinct = _split(strings.dictionary)
    counts = np.diff(starts)[code]
    return np.repeat(row, counts), terms[ragged(starts[code], counts)], distinct


def _blank(folded: np.ndarray) -> np.ndarray:
    """Blank all punctuation that `tokens.split` joins nothing by: what is left stands inside a term."""
    kind = _CLASS[folded]
    at = np.flatnonzero(kind >= _COMMA)
    padded = np.concatenate(([_OTHER], kind, [_OTHER])).astype(np.uint8)
    before, after = padded[at], padded[at + 2]
    digits = (before == _DIGIT) & (after == _DIGIT)
    letters = (before == _LETTER) & (after == _LETTER)
    here = kind[at]
    kept = (
        ((here == _COMMA) & digits)
        | ((here == _POINT) & (digits | letters))
        | ((here == _HYPHEN) & (before == _LETTER) & (after == _DIGIT))
        | ((here == _APOSTROPHE) & ((before != _OTHER) & (after == _LETTER)))
    )
    folded[at[~kept]] = ord(" ")
    return folded


def _split(strings: pa.Array) -> tuple[np.ndarray, np.ndarray, pa.Array]:
    """Return the strings' terms (numbers into the distinct ones), where each string's start, the distinct."""
    plain = pc.invert(pc.match_substring_regex(strings, "[,.'%-]")).to_numpy(zero_copy_only=False)
    plain &= pc.binary_length(strings).to_numpy() > 0
    numeral = pc.match_substring_regex(strings, _NUMERAL).to_numpy(zero_copy_only=False) & ~plain
    other = np.flatnonzero(~plain & ~numeral)
    split_others = [split(string) for string in strings.take(pa.array(other)).to_pylist()]
    counts = np.ones(len(strings), np.int64)
    counts[other] = [len(terms) for terms in split_others]
    starts = np.concatenate(([0], np.cumsum(counts)))
    flat = pa.array([term for terms in split_others for term in terms], pa.large_string())
    everything = [strings.filter(pa.array(plain)), _values(strings.filter(pa.array(numeral))), flat]
    encoded = pc.dictionary_encode(pa.chunked_array(everything, pa.large_string()).combine_chunks())
    at = np.concatenate(
        (starts[np.flatnonzero(plain)], starts[np.flatnonzero(numeral)], ragged(starts[other], counts[other]))
    )
    terms_of = np.empty(starts[-1], np.int32)
    terms_of[at] = encoded.indices.to_numpy()
    return terms_of, starts, encoded.dictionary


def _values(numerals: pa.Array) -> pa.Array:
    """Return numerals as terms: without commas, and without zeros at the end of decimals."""
    whole = pc.replace_substring(numerals, ",", "")
    decimals = pc.match_substring(whole, ".")
    short = pc.replace_substring_regex(pc.replace_substring_regex(whole, "0+$", ""), "[.]$", "")
    return pc.if_else(decimals, short, whole)


def ragged(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return `start, start + 1, …` for each start, `count` numbers each, one after another."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    numbers: np.ndarray = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - counts), counts)
    return numbers
