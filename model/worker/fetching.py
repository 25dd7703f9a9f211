"""The window's end of the engine's replies: what lies in shared memory is fetched from there."""

from __future__ import annotations

from model.step.report import Analysis
from model.traffic.types import Fabric
from model.worker.messages import Analysed, Reply, SharedFabric
from model.worker.shared_arrays import unpack


class Fetcher:
    """Follows the replies of one engine process; needs all of them, in order."""

    def __init__(self) -> None:
        self._known: dict[int, Fabric] = {}

    def fetched(self, reply: Reply) -> Reply | Analysis | None:
        """The analysis where one has come, None for what it only prepares, and all other replies as they
        are.
        """
        if isinstance(reply, SharedFabric):
            self._known = {reply.token: unpack(reply.parcel)}
            return None
        return unpack(reply.parcel, self._known) if isinstance(reply, Analysed) else reply
