"""Planted trajectories: episodes whose truth is known by construction, to calibrate a judge with.

From a question of the dataset and a `Fault`, `Planter` makes a `Plant`: the figures that are used, what is
computed and the answer, checked by the scorers. `trajectory` tells it as steps, apart from any arm; an arm's
transcript form is a rendering of those. What an episode shows is real text of the documents, and nothing in
it tells of the fault.
"""

from pipeline.benchmarks.ledgerqa.planted.faults import Fault, Plant, Planter, Skipped, Truth
from pipeline.benchmarks.ledgerqa.planted.figures import Figures
from pipeline.benchmarks.ledgerqa.planted.questions import Question, questions
from pipeline.benchmarks.ledgerqa.planted.steps import Trajectory
from pipeline.benchmarks.ledgerqa.planted.tables import Tables
from pipeline.benchmarks.ledgerqa.planted.trajectory import trajectory

__all__ = [
    "Fault",
    "Figures",
    "Plant",
    "Planter",
    "Question",
    "Skipped",
    "Tables",
    "Trajectory",
    "Truth",
    "questions",
    "trajectory",
]
