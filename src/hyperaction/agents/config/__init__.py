"""What an agent is: its configuration, grouped by the parts that settings belong to.

Settings have the names that other libraries use: `batch_size`, `buffer_size` and `learning_starts`
as in Stable-Baselines3, `train_frequency` as in CleanRL; `discount`, as in dqn_zoo, is what others
call gamma. Everything here can be read without loading JAX.
"""

from hyperaction.agents.config.base import AgentConfig as AgentConfig
from hyperaction.agents.config.ddpg import DDPGConfig as DDPGConfig
from hyperaction.agents.config.heads import Heads as Heads
from hyperaction.agents.config.q_learning import AUTO as AUTO
from hyperaction.agents.config.q_learning import KINEMATIC as KINEMATIC
from hyperaction.agents.config.q_learning import QLearningConfig as QLearningConfig
