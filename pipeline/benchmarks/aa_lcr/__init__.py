"""AA-LCR: questions over sets of long real documents, judged by a model.

`config` is its configuration, `loading` its entry. It comes in two forms: `official` reads the CSV file and
the texts beside it, `joined` a Parquet file whose rows hold their documents. `sets` is what both give.
"""
