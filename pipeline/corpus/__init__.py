"""Documents, passages, the index and the document map: what an agent searches and reads."""
