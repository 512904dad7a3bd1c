"""Networks: from observations to the values of joint actions."""

from hyperaction.networks.ensemble import Ensemble as Ensemble
from hyperaction.networks.q_network import QNetwork as QNetwork
from hyperaction.networks.state import MLP as MLP
from hyperaction.networks.state import NatureCNN as NatureCNN
from hyperaction.networks.values import ENUMERATION_LIMIT as ENUMERATION_LIMIT
from hyperaction.networks.values import AbstractValueNetwork as AbstractValueNetwork
