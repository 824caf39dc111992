"""LongHarness: run, measure and audit evidence-managing agents over very large document collections."""
