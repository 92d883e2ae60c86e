"""Attack drop: what prompt attacks leave of pass@1, a line of dots a model."""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from evalooop.config import FigureConfig
from evalooop.figures.style import DASHES, FAINT, INK, PALETTE, message, new_figure, styled
from evalooop.perturbations import NONE, PERTURBATIONS

CAPTION = (
    "pass@1 under each prompt attack, by family; the vertical lines are pass@1 without one. “all at once” is the share "
    "of tasks whose programs pass under every attack and under none, the worst case."
)
MOST_MODELS = 6


def numbers(chains: pl.DataFrame, metrics: dict[str, Any]) -> pl.DataFrame:
    """Return one row a (model, prompt, temperature, attack): family and pass@1; ``all at once`` is the worst case."""
    rows = []
    for study in metrics["reliability"]["studies"]:
        for attacked in study["attacks"]:
            asked = (study["dataset"], attacked["model"], attacked["prompt_variant"], attacked["temperature"])
            for name, share in attacked["pass_at_1"].items():
                rows.append((*asked, name, PERTURBATIONS[name][0] if name != NONE else NONE, share))
            rows.append((*asked, "all at once", "", attacked["robust_pass_at_1"]))
    columns = {"dataset": pl.String, "model": pl.String, "prompt_variant": pl.String, "temperature": pl.Float64}
    return pl.DataFrame(
        rows, {**columns, "attack": pl.String, "family": pl.String, "pass_at_1": pl.Float64}, orient="row"
    )


@styled
def draw(chains: pl.DataFrame, metrics: dict[str, Any], settings: FigureConfig) -> Figure:
    """Draw a row an attack, a colour for each of the first models (with its prompt and benchmark)."""
    table = numbers(chains, metrics)
    if table.is_empty():
        return message(settings, "no attacks were run beside none: sweep perturbation=none,...")
    series = table.partition_by("dataset", "model", "prompt_variant", "temperature", maintain_order=True)[:MOST_MODELS]
    shown = pl.concat(series)
    attacks = [name for name in (*PERTURBATIONS, "all at once") if name in set(shown["attack"])]
    figure = new_figure(settings, 0.22 * len(attacks) + 1.0)
    axes = figure.subplots()
    for index, part in enumerate(series):
        color = PALETTE[index % len(PALETTE)]
        shares = dict(part.select("attack", "pass_at_1").iter_rows())
        axes.axvline(shares[NONE], color=color, linewidth=1, linestyle=DASHES[1])
        places = [place for place, name in enumerate(attacks) if name in shares]
        label = f"{part['model'][0]}, {part['prompt_variant'][0]}, T = {part['temperature'][0]:g}"
        axes.plot([shares[attacks[place]] for place in places], places, "o", color=color, markersize=4.5, label=label)
        if len(series) == 1:
            for place in places:
                share = shares[attacks[place]]
                axes.hlines(place, *sorted((share, shares[NONE])), color=color, linewidth=1.2)
                axes.annotate(
                    f"{share:.0%}",
                    (share, place),
                    (-7, 0),
                    textcoords="offset points",
                    ha="right",
                    va="center",
                    fontsize=6,
                )
    axes.set_yticks(range(len(attacks)), map(_named, attacks))
    axes.set(ylim=(len(attacks) - 0.4, -0.6), xlim=(-0.06, 1.03), xlabel="pass@1")
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    figure.legend(loc="outside upper right", ncols=2, fontsize=6.5, frameon=False, labelcolor=INK)
    return figure


def _named(attack: str) -> str:
    return f"{attack.replace('_', ' ')}  ({PERTURBATIONS[attack][0]})" if attack in PERTURBATIONS else attack
