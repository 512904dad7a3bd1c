"""TensorBoard events."""

from __future__ import annotations

import time
from pathlib import Path


class TensorBoard:
    """TensorBoard events, in the run's directory."""

    def __init__(self, out: Path, step: int) -> None:
        from tensorboardX.event_file_writer import EventsWriter
        from tensorboardX.proto.event_pb2 import Event, SessionLog
        from tensorboardX.summary import scalar

        # Not its SummaryWriter, which writes in a thread: if that dies, it prints why, and blocks.
        self._writer = EventsWriter(str(out / "events"), f".{step}")
        self._event, self._scalar = Event, scalar
        if step:
            # Events after the step are of a run that did not get as far as its next checkpoint.
            begin = SessionLog(status=SessionLog.START)
            self._writer.write_event(Event(step=step + 1, session_log=begin))

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Adds a scalar for each."""
        now = time.time()
        for name, value in metrics.items():
            summary = self._scalar(name, value)
            self._writer.write_event(self._event(step=step, wall_time=now, summary=summary))
        self._writer.flush()

    def close(self) -> None:
        """Writes what is left."""
        self._writer.close()
