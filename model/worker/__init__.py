"""The engine process. Importing this is cheap: what it computes with is imported in the process itself."""

from __future__ import annotations

from multiprocessing.connection import Connection


def serve(connection: Connection) -> None:
    """Run the engine until the other end of the pipe is closed, or the process there is gone."""
    from model.worker.process import run

    run(connection)
