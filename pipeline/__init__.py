"""LongHarness: run, measure and audit evidence-managing agents over very large document collections."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("longharness")
except PackageNotFoundError:  # a source tree that was not installed
    __version__ = "0+unknown"
