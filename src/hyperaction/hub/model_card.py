"""The model card of an exported agent: a README.md with the hub's metadata in its header."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hyperaction.report.tables import markdown, score

LAST = 10
"""Evaluations that are shown, and averaged at most, as in `hyperaction table`."""


class Card(NamedTuple):
    """What a model card says."""

    agent: str
    """The agent's name, such as hgqn."""
    class_name: str
    env: str
    """The environment's id; empty where it is not known."""
    facts: dict[str, str]
    evaluations: Sequence[dict[str, Any]]
    """Rows with a step and a return, by increasing step."""
    film: str
    """The file of the film; empty where there is none."""

    @property
    def title(self) -> str:
        """The agent and its environment."""
        return f"{self.agent}-{self.env}" if self.env else self.agent

    def text(self) -> str:
        """The card."""
        sections = [
            self._header(),
            f"# {self.title}",
            "An agent trained with Hyperaction: value-based reinforcement learning where an action "
            "has several dimensions.",
            markdown(["", ""], [[name, value] for name, value in self.facts.items()]),
            self._results(),
            self._usage(),
        ]
        if self.film:
            sections.append(f'## Replay\n\n<video src="{self.film}" controls></video>')
        return "\n\n".join(section.strip("\n") for section in sections if section) + "\n"

    def _header(self) -> str:
        """The metadata, as YAML; every text as JSON writes it, which is YAML too."""
        tags = ["reinforcement-learning", "deep-reinforcement-learning", "hyperaction", self.agent]
        tags += [self.env] if self.env else []
        lines = ["library_name: hyperaction", "pipeline_tag: reinforcement-learning", "tags:"]
        lines += [f"- {json.dumps(tag)}" for tag in tags]
        if (result := self._score()) and self.env:
            env, value = json.dumps(self.env), json.dumps(result)
            lines += [
                "model-index:",
                f"- name: {json.dumps(self.title)}",
                "  results:",
                "  - task:",
                "      type: reinforcement-learning",
                "      name: reinforcement-learning",
                "    dataset:",
                f"      name: {env}",
                f"      type: {env}",
                "    metrics:",
                "    - type: mean_reward",
                "      name: mean_reward",
                f"      value: {value}",
                "      verified: false",
            ]
        return "\n".join(["---", *lines, "---"])

    def _score(self) -> str:
        """The mean and standard deviation over the last evaluations; empty where there is none."""
        try:
            found = score(self.evaluations, LAST, 0)
        except ValueError:
            return ""
        last = [row["return"] for row in self.evaluations[-found.evaluations :]]
        return f"{found.value:.2f} +/- {np.std(last):.2f}"

    def _results(self) -> str:
        if not self.evaluations:
            return ""
        rows = [
            [f"{row['step']:,}", f"{row['return']:,.2f}", f"{row.get('episodes', '')}"]
            for row in self.evaluations[-LAST:]
        ]
        value = self._score()
        mean = f"Mean return of the last evaluations of training: {value}.\n\n" if value else ""
        table = markdown(["step", "return", "episodes"], rows)
        return f"## Results\n\n{mean}The last evaluations:\n\n{table}"

    def _usage(self) -> str:
        env = (
            f"\nenv = gymnasium.make({json.dumps(self.env)})"
            if self.env and ":" not in self.env
            else ""
        )
        first = "import gymnasium\n" if env else ""
        act = (
            "\nobservation, info = env.reset(seed=0)\naction = agent.act(observation)"
            if env
            else ""
        )
        return (
            f"## Usage\n\n```sh\npip install 'hyperaction[hub]'\n```\n\n```python\n{first}"
            f"from hyperaction import {self.class_name}\n\n"
            f'agent = {self.class_name}.from_hub("USER/NAME")  # Or this folder.{env}{act}\n```\n\n'
            f'`{self.class_name}.from_hub("USER/NAME", env)` gives an agent that can learn on. '
            f"The file of the agent holds numbers and settings, and no code."
        )
