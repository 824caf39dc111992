"""OfficeQA in all its forms, and questions of one's own in its layout.

Pro V1 and Full ask over the same 697 Treasury Bulletins; Pro V2 over 1,435 documents that come parsed, as
JSON, and are rendered as text.
"""

from pipeline.benchmarks.officeqa.config import OfficeQAConfig, Rendering
from pipeline.benchmarks.officeqa.loading import load

__all__ = ["OfficeQAConfig", "Rendering", "load"]
