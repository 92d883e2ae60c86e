"""Prompt attacks: seeded changes of a task that keep its meaning, the baseline that EvaLooop is compared with.

In the spirit of the paper's families and of ReCode (Wang et al. 2023). Each is a function from a task and a source of
chance to a task; the tests stay valid. To add one, write the function, name it in ``PERTURBATIONS``, and add a file to
``conf/perturbation``.
"""

from __future__ import annotations

import difflib
import random
from collections.abc import Callable

from evalooop.errors import UserError
from evalooop.perturbations import layout, names, sentences, wording
from evalooop.tasks import Task

NONE = "none"

PERTURBATIONS: dict[str, tuple[str, Callable[[Task, random.Random], Task]]] = {
    function.__name__: (family, function)
    for family, functions in {
        "case": (wording.upper_case, wording.random_case),
        "layout": (layout.wide_spaces, layout.narrow_lines, layout.deep_indentation, layout.comments),
        "verbosity": (sentences.redundant_sentences, sentences.restated),
        "typos": (wording.swapped_letters, wording.typing_errors),
        "synonyms": (wording.synonyms,),
        "names": (names.renamed_function, names.renamed_arguments),
        "order": (sentences.reordered_sentences,),
    }.items()
    for function in functions
}
"""Family and function of each perturbation, by name."""


def check_name(name: str) -> None:
    """Refuse the name of a perturbation that there is not.

    Raises:
        UserError: names those that there are.
    """
    if name not in (NONE, *PERTURBATIONS):
        raise UserError(f"there is no perturbation {name!r}; there are {', '.join((NONE, *PERTURBATIONS))}")


def perturb(task: Task, name: str, seed: int = 0) -> Task:
    """Return a task under a perturbation; the same seed gives the same task, ``none`` the task itself.

    Raises:
        UserError: there is no perturbation of this name.
    """
    check_name(name)
    if name == NONE:
        return task
    _, function = PERTURBATIONS[name]
    return function(task, random.Random(f"{seed} {name} {task.id}"))


def severity(before: str, after: str) -> float:
    """Return the share of a prompt's characters that a perturbation changed, in [0, 1]; 0 where it does not apply.

    One less the share of characters in common (difflib's ratio).
    """
    return 1 - difflib.SequenceMatcher(None, before, after, autojunk=False).ratio()
