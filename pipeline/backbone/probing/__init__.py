"""What a served model can do, found out by asking it: a finding for each thing, with its remedy."""

from pipeline.backbone.probing.findings import Finding
from pipeline.backbone.probing.replica import Needs, probe

__all__ = ["Finding", "Needs", "probe"]
