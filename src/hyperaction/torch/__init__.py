"""Action hypergraph networks in PyTorch: a head for any network, and the best joint actions."""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "hyperaction.torch needs PyTorch: pip install 'hyperaction[torch]' or your own build",
        name="torch",
    ) from None

from hyperaction.torch.head import HypergraphHead
from hyperaction.torch.maximise import Maximum, maximise
from hyperaction.torch.mixers import MIXERS

__all__ = ["MIXERS", "HypergraphHead", "Maximum", "maximise"]
