"""Agents in the shape people know: made for an environment, then `learn`, `predict`, `save`."""

from hyperaction.api.agents import AGENT_CLASSES as AGENT_CLASSES
from hyperaction.api.agents import BDQN as BDQN
from hyperaction.api.agents import DDPG as DDPG
from hyperaction.api.agents import DQN as DQN
from hyperaction.api.agents import HGQN as HGQN
from hyperaction.api.agents import ActionIn as ActionIn
from hyperaction.api.agents import HGRainbow as HGRainbow
from hyperaction.api.agents import Rainbow as Rainbow
from hyperaction.api.base import BaseAgent as BaseAgent
