"""LedgerQA: generated statistical bulletins with questions whose evidence is known by construction."""
