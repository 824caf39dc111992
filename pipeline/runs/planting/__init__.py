"""Planted runs: a run folder of episodes whose truth is known, recorded as any others.

The harness' own arms run their scripted replies through the real harness, over the real corpus, into a real
journal; the other arms' episodes are transcripts. `planted.parquet` has the truth.
"""

from pipeline.runs.planting.writer import PlantedRun, write

__all__ = ["PlantedRun", "write"]
