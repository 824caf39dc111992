"""A rule-based policy behind a chat API: it shows the wiring, and is not a language model.

Its figures say that the parts fit together; they are no evidence for the method. It runs as its own HTTP
process (`python -m pipeline.backbone.reference`), sees nothing but chat requests, and keeps no state: each
reply is a function of the messages of its request. `policy` documents its strategy and its one conflict rule.
"""
