"""Networks: from observations to the values of joint actions."""

from hyperaction.networks.action_in import ActionInNetwork as ActionInNetwork
from hyperaction.networks.combined import Combined as Combined
from hyperaction.networks.ensemble import Ensemble as Ensemble
from hyperaction.networks.logarithmic import LogMapping as LogMapping
from hyperaction.networks.logarithmic import LogNetwork as LogNetwork
from hyperaction.networks.q_network import QNetwork as QNetwork
from hyperaction.networks.searched import AbstractSearchedNetwork as AbstractSearchedNetwork
from hyperaction.networks.state import MLP as MLP
from hyperaction.networks.state import NatureCNN as NatureCNN
from hyperaction.networks.state import ResidualMLP as ResidualMLP
from hyperaction.networks.values import ENUMERATION_LIMIT as ENUMERATION_LIMIT
from hyperaction.networks.values import AbstractQFunction as AbstractQFunction
from hyperaction.networks.values import AbstractValueNetwork as AbstractValueNetwork
