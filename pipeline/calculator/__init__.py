"""The calculator: a small expression language that runs no code (contract 3.19).

`evaluate` turns an expression into a `Value`, or refuses it with an `InvalidOperation` that says what to
send instead; `FUNCTIONS` are the language's functions, for those who describe it to a model.
"""

from pipeline.calculator.evaluation import evaluate
from pipeline.calculator.functions import FUNCTIONS, Function
from pipeline.calculator.values import Value

__all__ = ["FUNCTIONS", "Function", "Value", "evaluate"]
