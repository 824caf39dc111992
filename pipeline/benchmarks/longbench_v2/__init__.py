"""LongBench v2, its long questions: four choices over one document of up to 16 million characters.

`config` is its configuration, `loading` its entry, `stream` reads the file, and `unpacking` lays each long
question's document down as a corpus of its own.
"""
