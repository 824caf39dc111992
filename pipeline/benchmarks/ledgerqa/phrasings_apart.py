"""The phrasings kept apart from the reference policy: tables described, not quoted; other words and order."""

from __future__ import annotations

from pipeline.benchmarks.ledgerqa.phrasing import Phrasings

APART = Phrasings(
    frames={
        "single": (
            "How much is {what}? The figure is in {table}, {where}. {form}",
            "Please open {table}, {where}, and read {what}. {form}",
            "{form} I need {what} from {table}, {where}.",
            "My notes lack one number: {what}. It comes from {table}, {where}; please supply it. {form}",
            "Can you tell me {what}? It should be in {table}, {where}. {form}",
            "An auditor quotes {what} from {table}, {where}. What does the quotation say? {form}",
        ),
        "arithmetic": (
            "How much is {what}? Every figure needed is in {table}, {where}. {form}",
            "{form} Please work this out from {table}, {where}: {what}.",
            "I need {what}. The raw numbers are those of {table}, {where}. {form}",
            "With {table}, {where}, before you: how much does one get for {what}? {form}",
            "Can you derive {what} with the help of {table}, {where}? {form}",
            "An auditor recalculates {what} on the strength of {table}, {where}. What ought to come out? "
            "{form}",
        ),
        "series": (
            "I am charting {column} month by month, starting in {first} and ending in {last} ({count} "
            "points), out of {table}. Whatever was corrected afterwards enters with its corrected value. "
            "How much is {what}? {form}",
            "{form} Needed is {what}: the values of {column} in {table} over all months between {first} and "
            "{last} inclusive, {count} of them, each at its final value after any correction in a later "
            "bulletin or in a notice.",
            "Please build the {count}-month run of {column} that opens with {first} and closes with "
            "{last}, out of {table}. Where two bulletins differ the younger one is right, and a printed "
            "correction overrules both. How much is {what}? {form}",
            "There is a line for {column} in {table}. Follow it over {count} months, {first} being the "
            "opening one and {last} the closing one, with every correction applied that was ever "
            "announced. Can you work out {what}? {form}",
            "Can you work out {what}? Meant are the final values, after all amendments, of {column} in "
            "{table}, covering {count} months, {first} to {last}. {form}",
            "Suppose someone keeps a record of {column} out of {table} and corrects it whenever a bulletin "
            "or a notice says so. Over the stretch {first} to {last} ({count} months, both ends counted), "
            "how much is {what} once all corrections are in? {form}",
        ),
        "revision": (
            "Going by all that was published in the end, how much is {what}? The table is {table}. {form}",
            "{form} From {table} I need {what}; note that some of its figures did not survive later checks.",
            "Can you tell me {what}? Look at {table}, and at whatever was said about it afterwards. {form}",
            "Printed figures in {table} were not always final. How much is {what}? {form}",
            "An auditor compares successive bulletins, and the notices that correct them, as to {table}. "
            "What should be noted for {what}? {form}",
            "Please trace {table} through the years until nothing more was changed, and give {what}. {form}",
        ),
        "unit": (
            "How much is {what}? Check in which unit {table} is set, {where}. {form}",
            "{form} In {table}, {where}, I need {what}; be careful with thousands and millions.",
            "Please take from {table}, {where}, {what}, and bring it to the unit I ask for. {form}",
            "Can you tell me {what}? It is in {table}, {where}, perhaps in another unit than mine. {form}",
            "An auditor with {table}, {where}, at hand needs {what} and is particular about units and "
            "signs. What do you report? {form}",
            "With {table}, {where}, before you and its unit line in mind: how much is {what}? {form}",
        ),
        "calendar": (
            "How much is {what}, on the final figures of {table}? {form}",
            "{form} I need {what}. Use {table} with all its later corrections, and do not mix up the two "
            "kinds of year.",
            "The bulletin closes its books in September, other people in December. In view of that, and of "
            "every correction ever announced, how much is {what} in {table}? {form}",
            "Can you tell me {what}? Look at {table} and take the final values. {form}",
            "Please determine, out of {table} (corrected wherever a later bulletin or notice corrects it), "
            "{what}. {form}",
            "An auditor is asked for {what} in {table}, on the last published values. What is the reply? "
            "{form}",
        ),
        "list": (
            "I need {what}. The place to look is {table}, {where}. {form}",
            "{form} Please copy {what} from {table}, {where}.",
            "Can you put together {what}, out of {table}, {where}? {form}",
            "With {table}, {where}, before you: what do you get for {what}? {form}",
            "An auditor asks for {what}, all from {table}, {where}. What do you hand over? {form}",
            "Once more from the bulletin, and this time several at once. In {table}, {where}, look for "
            "{what}. {form}",
        ),
    },
    operations={
        "value": ("{a}",),
        "absolute": ("the size, whatever its sign, of {a}", "the magnitude of {a}"),
        "difference": (
            "the amount by which {a} exceeds {b} (below zero if it falls short)",
            "what remains of {a} once {b} has been subtracted",
        ),
        "excess": (
            "the amount by which {a} exceeds {b} (below zero if it falls short)",
            "what remains of {a} once {b} has been subtracted",
        ),
        "percent_change": (
            "the rise (below zero for a fall) from {a} to {b}, relative to the former and times 100",
            "the relative change that leads from {a} to {b}, as a percentage of the former",
        ),
        "share": ("{a} as so many per hundred of {b}", "the fraction of {b} that is {a}, times 100"),
        "ratio": ("{a} divided by {b}", "the quotient of {a} by {b}"),
        "sum": ("the amount that results from adding up {list}", "what one gets by adding {list}"),
        "mean": ("the average of {list}",),
        "geometric_mean": ("the geometric average of {list}",),
        "sample_deviation": ("the standard deviation of {list}, taken as a sample (so divide by n - 1)",),
        "population_deviation": ("the standard deviation of {list}, taken as a whole (so divide by n)",),
        "trend": (
            "the slope, per month, of a straight line fitted to {list} by least squares",
            "the monthly step of the straight line that fits {list} best in least squares",
        ),
        "list": ("{list} (in this order)", "these figures, in the order given: {list}"),
        "descending": ("{list}, sorted so that the biggest comes first",),
        "ranking": (
            "{rows}, sorted by {column} in the {period} so that the biggest comes first",
            "the order of {rows} by size of {column} in the {period}, the biggest at the front",
        ),
        "figures": ("these {count} values", "all {count} of those values"),
    },
    table=(
        "the {basis} table on {concept} of the {topic}, classified by {by}",
        "the {topic} table that splits {concept} up by {by} (the {basis} one)",
        "the table of {concept} by {by} that the {topic} has in its {basis} accounts",
    ),
    where=("as the {issue} bulletin has it", "in the bulletin of {issue}"),
    where_each="every figure from the bulletin given after it",
    printed_in="{cell} (bulletin of {issue})",
    month_cell=("{column} for the month of {period}", "the {column} figure of {period}"),
    fiscal_cell=("{column} in the whole of fiscal {period}", "the {column} figure of fiscal {period}"),
    fiscal_year_cell=(
        "{column} over the fiscal year ended {last}",
        "{column} in the fiscal year {period}, the one that began in {first}",
    ),
    calendar_cell=(
        "{column} added up over the months from January to December of {period}",
        "what the twelve months of the calendar year {period} make under {column}",
    ),
    cross_cell=("the {column} figure of {row} for the {period}", "{column}, {row}, for the {period}"),
    quoted="{name}",
    first_report="{cell} as it was first given out",
    last_report="{cell} as it stands after all corrections",
    units={
        "thousand": "in thousand dollars",
        "million": "in million dollars",
        "percent": "in per cent",
        "ratio": "as a bare quotient",
    },
    whole=(
        "Report the result {unit}, without decimals.",
        "Put the result {unit}, as an integer.",
    ),
    rounded=(
        "Report the result {unit}, to {decimals} decimals.",
        "Put the result {unit} and keep {decimals} decimals.",
    ),
    list_whole=(
        "Write {count} integers between square brackets, {unit}, with commas between them.",
        "Report one bracketed row of {count} integers {unit}.",
    ),
    list_rounded=(
        "Write {count} amounts between square brackets, {unit}, with commas between them and {decimals} "
        "decimals each.",
        "Report one bracketed row of {count} amounts {unit}, to {decimals} decimals each.",
    ),
    list_names=(
        "Write the {count} names between square brackets, with commas between them.",
        "Report one bracketed row of the {count} names.",
    ),
    signs=("A net repayment is below zero.", "Where more was repaid than lent, the figure is below zero."),
    numerals={2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"},
)
