"""A test server that replies what a script says: to try out harness changes without a model.

It serves `/v1/chat/completions`, `/v1/responses` and `/v1/messages`, streams included; `script` describes the
script's lines. `backbone=scripted serving.script=FILE` runs it.
"""
