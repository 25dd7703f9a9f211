"""NCCL's graph XML (NCCL_GRAPH_DUMP_FILE): the rings and trees that it chose, as an overlay."""

from __future__ import annotations

import math
import re

from model.errors import InputError
from model.files.importing import Channel, ChosenGraph, ImportFormat, Overlay, Reading
from model.files.imports.building import drawing_name
from model.files.imports.xml import Element, looks_like, read_xml
from model.text import plural

# Ids of ncclTopoGraph in init.cc, and patterns of graph.h.
_BY_ID = {0: "ring", 1: "tree", 2: "collnet", 3: "nvls", 4: "collnet"}
_BY_PATTERN = {1: "tree", 2: "tree", 3: "tree", 4: "ring", 5: "nvls", 6: "collnet"}
_MOST_CHANNELS = 1_024


def _sniff(head: str, name: str) -> int:
    return 95 if looks_like(head, "graphs") and "<graph" in head else 0


def _read(reading: Reading) -> Overlay:
    root = read_xml(reading, "graphs")
    if root.get("version") not in ("1", ""):
        reading.contradictory(f"The version is {root.get('version')[:20]}; 1 is known.", root.line)
    graphs = [_graph(reading, graph) for graph in root.all("graph")]
    if not graphs:
        raise InputError(f"{reading.source.name}, line {root.line}: <graphs> has no <graph>.")
    for other in root.children:
        if other.tag != "graph":
            reading.ignored(f"<{other.tag[:40]}> under <graphs> is not read.", other.line)
    used = [graph for graph in graphs if graph.channels]
    reading.found(
        f"{plural(len(graphs), 'graph')}: "
        + ", ".join(f"{graph.algorithm} with {plural(len(graph.channels), 'channel')}" for graph in graphs)
        + "."
    )
    if len(used) < len(graphs):
        reading.inferred("A graph without channels is an algorithm that NCCL found no way for.")
    return Overlay(drawing_name(reading), tuple(graphs))


def _graph(reading: Reading, graph: Element) -> ChosenGraph:
    ident, pattern = _whole(graph.get("id")), _whole(graph.get("pattern"))
    algorithm = _BY_ID.get(-1 if ident is None else ident)
    by_pattern = _BY_PATTERN.get(-1 if pattern is None else pattern)
    if algorithm is None and by_pattern is None:
        algorithm = f"graph {graph.get('id')[:20] or '?'}"
        reading.guessed("A graph of an unknown id and pattern is kept under its id.", graph.line)
    elif algorithm is not None and by_pattern is not None and algorithm != by_pattern:
        reading.contradictory(
            f"Graph {ident} is {algorithm} by its id and {by_pattern} by its pattern; the id counts.",
            graph.line,
        )
    channels: list[Channel] = []
    for channel in graph.all("channel"):
        if len(channels) >= _MOST_CHANNELS:
            reading.broken(f"a graph has more than {_MOST_CHANNELS:,} channels", channel.line)
            break
        read = _channel(reading, channel)
        if read is not None:
            channels.append(read)
    said = _whole(graph.get("nchannels"))
    if said is not None and said != len(channels):
        reading.contradictory(
            f"nchannels is {said}, but the graph has {plural(len(channels), 'channel')}.",
            graph.line,
        )
    return ChosenGraph(
        algorithm or by_pattern or "",
        tuple(channels),
        _speed(reading, graph, "speedintra"),
        _speed(reading, graph, "speedinter"),
        graph.get("typeintra")[:20],
        graph.get("typeinter")[:20],
    )


def _channel(reading: Reading, channel: Element) -> Channel | None:
    """GPUs in order; the first <net> before them is the way in, the last one behind them the way out."""
    gpus: list[int] = []
    net_in: int | None = None
    net_out: int | None = None
    for child in channel.children:
        number = _whole(child.get("dev"))
        if child.tag not in ("gpu", "net"):
            reading.ignored(f"<{child.tag[:40]}> in <channel> is not read.", child.line)
        elif number is None or number < 0:
            reading.broken(f"dev={child.get('dev')[:20]!r} of <{child.tag}> is no number", child.line)
        elif child.tag == "gpu":
            gpus.append(number)
        elif gpus:
            net_out = number
        else:
            net_in = number
    if not gpus:
        reading.broken("a <channel> has no <gpu>", channel.line)
        return None
    if net_in is None and net_out is None:
        reading.inferred("Channels without <net> stay inside one host.", channel.line)
    return Channel(tuple(gpus), net_in, net_out)


def _speed(reading: Reading, graph: Element, name: str) -> float:
    """GB/s of one channel, in bytes/s; 0 where it is not said."""
    text = graph.get(name)
    try:
        value = float(text or "0")
    except ValueError:
        value = -1.0
    if not math.isfinite(value) or value < 0 or value > 1e6:
        reading.broken(f"{name}={text[:20]!r} is no speed in GB/s", graph.line)
        return 0.0
    return value * 1e9


def _whole(text: str) -> int | None:
    """A whole number, decimal or with 0x (NCCL writes 64-bit ids of devices so); None where it is none."""
    if re.fullmatch(r"-?\d{1,18}", text):
        return int(text)
    return int(text, 16) if re.fullmatch(r"0[xX][0-9a-fA-F]{1,15}", text) else None


FORMATS = (
    ImportFormat(
        id="nccl-graph-xml",
        name="NCCL graph XML",
        suffixes=(".xml",),
        sniff=_sniff,
        read=_read,
        how="Run any NCCL program with NCCL_GRAPH_DUMP_FILE=graph.xml",
        carries="The rings, trees and NVLS graphs that NCCL chose: GPUs and NICs in order, and speeds.",
        lacks="Which host it was: GPUs are numbered in it, as the program saw them.",
    ),
)
