"""The method, pure: states, operations and the episode loop (design contract, sections 1 to 9)."""

from pipeline.harness.episode import LongHarness
from pipeline.harness.turn import Fault, Reply, Trace, Turn

__all__ = ["Fault", "LongHarness", "Reply", "Trace", "Turn"]
