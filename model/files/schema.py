"""The three JSON formats as pydantic models, and the JSON Schemas made from them (resources/schema)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from model.document.view_state import LinkStyle
from model.files import project, topology_json, traffic_json
from model.files.writing import json_text, write_atomic
from model.job.spec import JobSpec
from model.topology.types import ContainerKind, DeviceKind, LinkKind, State

Number = Annotated[float, Field(allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Index = Annotated[int, Field(ge=0)]
Ident = Annotated[str, Field(min_length=1, max_length=200)]


class _Open(BaseModel):
    """Later versions may add fields, so readers do not refuse unknown ones."""

    model_config = ConfigDict(extra="allow")


class Table(_Open):
    """Named columns and rows of cells."""

    columns: list[str]
    rows: list[list[Any]]


class ProjectTopology(_Open):
    """The drawing as tables."""

    containers: Table
    devices: Table
    links: Table


class View(_Open):
    """How the drawing is looked at: what layouts leave in place, what is folded, how links run, the centres
    of empty containers.
    """

    pins: list[Ident] = []
    folds: list[Ident] = []
    links: LinkStyle = LinkStyle.CURVED
    spots: dict[Ident, tuple[float, float]] = {}


class ProjectFile(_Open):
    """A Railsketch project."""

    format: Literal["railsketch.project"]
    version: Literal[1]
    name: str = ""
    topology: ProjectTopology
    job: JobSpec
    paint: Table
    layout: Table
    view: View = View()


class Rack(_Open):
    """Where a thing stands in a rack, and what it needs there."""

    u: Index | None
    height_u: Amount | None
    power_w: Amount | None
    weight_kg: Amount | None


class Node(Rack):
    """A device."""

    id: Ident
    kind: DeviceKind
    model: str
    label: str
    parent: Ident | None
    rail: Index | None
    state: State
    speed: Share
    x: Number | None
    y: Number | None


class Edge(_Open):
    """A link; rates are of the whole bundle in one direction."""

    source: Ident
    target: Ident
    key: Ident
    kind: LinkKind
    count: Count
    capacity_bytes_per_s: Amount
    nominal_bytes_per_s: Amount
    latency_s: Amount | None
    length_m: Amount | None
    state: State
    lane_bytes_per_s: Amount
    share: Share


class Box(Rack):
    """A container."""

    id: Ident
    kind: ContainerKind
    parent: Ident | None
    label: str
    row: Index | None = None
    column: Index | None = None


class Graph(_Open):
    """What holds for the whole drawing."""

    name: str
    units: dict[str, str]
    view: View = View()


class TopologyFile(_Open):
    """A Railsketch topology export: node-link JSON."""

    format: Literal["railsketch.topology"]
    version: Literal[1]
    directed: Literal[False]
    multigraph: Literal[True]
    graph: Graph
    nodes: list[Node]
    edges: list[Edge]
    containers: list[Box]


class PlacedGpu(_Open):
    """The rank and coordinates of a GPU."""

    gpu: Ident
    rank: Index
    tp: Index
    cp: Index
    ep: Index
    pp: Index
    dp: Index


class ByDimension(_Open):
    """A value for each dimension."""

    tp: Amount
    cp: Amount
    ep: Amount
    pp: Amount
    dp: Amount
    storage: Amount


class BytesPerStep(ByDimension):
    """Bytes of a step by dimension; `total` is their sum."""

    total: Amount


class Step(_Open):
    """The sums of a step; null where they are not defined (no GPU)."""

    time_s: Amount | None
    tokens_per_s_per_gpu: Amount | None
    model_flops: Amount | None
    mfu: Amount | None
    hfu: Amount | None
    bubble_fraction: Number | None
    compute_s: Amount | None
    optimizer_s: Amount | None
    bubble_s: Number | None
    exposed_s: dict[str, Amount | None]


class GpuMemory(_Open):
    """Bytes on a GPU."""

    gpu: Ident
    weights_bytes: Amount
    gradients_bytes: Amount
    optimizer_bytes: Amount
    activations_bytes: Amount
    other_bytes: Amount
    total_bytes: Amount
    hbm_bytes: Amount


class ExchangeRow(_Open):
    """One collective of one kind with all its groups. `groups` is a key of `groups` above 4,096 GPUs."""

    id: Ident
    dimension: Literal["tp", "cp", "ep", "pp", "dp", "storage"]
    kind: str
    operation: Literal[
        "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send", "broadcast", "read", "write"
    ]
    algorithm: str
    groups: list[list[Ident]] | str
    group_size: Count
    message_bytes: Index
    count_per_step: Index
    blocking: bool
    sent_bytes_per_gpu_per_step: Amount | None
    time_s: Amount | None
    exposed_s: Amount | None


class Direction(_Open):
    """One direction of a link."""

    bytes_per_step: BytesPerStep
    peak_utilisation: Amount | None
    mean_utilisation: Amount | None
    oversubscription: Amount | None
    cost_s: Amount | None


class LinkRow(_Open):
    """A link with what a step puts on it."""

    id: Ident
    a: Ident
    b: Ident
    kind: LinkKind
    count: Count
    capacity_bytes_per_s: Amount
    usable_bytes_per_s: Amount
    a_to_b: Direction
    b_to_a: Direction


LinkPair = tuple[Ident, Amount, Amount]


class Segment(_Open):
    """A piece of the step with the same exchanges. `links` are bytes; `loads` names an entry of `loads`."""

    start_s: Amount
    end_s: Amount
    exchanges: list[Ident]
    links: list[LinkPair] | None = None
    loads: str | None = None


class Load(_Open):
    """Rates in bytes/s while one set of exchanges runs."""

    id: str
    links: list[LinkPair]


class BlockRow(_Open):
    """What a stage does for a while."""

    start_s: Amount
    end_s: Amount
    what: Literal[
        "forward",
        "backward",
        "weight-gradient",
        "optimizer",
        "gradient-sync",
        "parameter-gather",
        "idle",
    ]
    microbatch: Index | None
    exposed_s: Amount = 0.0
    chunk: Index | None = None


class LaneRow(_Open):
    """A stage of `replicas` equal replicas."""

    stage: Index
    replica: Index
    replicas: Count
    blocks: list[BlockRow]


class Timeline(_Open):
    """The step over time."""

    segments: list[Segment]
    loads: list[Load] | None = None
    lanes: list[LaneRow]


class FindingRow(_Open):
    """Something a user should know."""

    id: str
    severity: Literal["error", "warning", "info"]
    title: str
    detail: str
    devices: list[Ident]
    links: list[Ident]
    cost_s: Amount | None
    fix: str


class FigureRow(_Open):
    """A number with its derivation."""

    value: Number | None
    unit: str
    formula: str
    inputs: dict[str, str | int | float | None]
    source: str


class EcmpRow(_Open):
    """How the hashed flows of an exchange meet on the cables between two kinds of switch.

    `expected_worst` and `drawn_worst`: how many times its even load the worst cable carries.
    """

    exchange: Ident
    from_kind: str = Field(alias="from")
    to: str
    flows: Index
    cables: Index
    expected_worst: Amount | None
    drawn_worst: Amount | None


class TrafficFile(_Open):
    """A Railsketch traffic export."""

    format: Literal["railsketch.traffic"]
    version: Literal[1]
    job: JobSpec
    placement: list[PlacedGpu]
    groups: dict[str, list[list[Ident]]]
    step: Step
    memory: list[GpuMemory]
    exchanges: list[ExchangeRow]
    links: list[LinkRow]
    timeline: Timeline
    notes: list[str] = []
    ecmp: list[EcmpRow] = []
    findings: list[FindingRow]
    figures: dict[str, FigureRow]


_FILES: tuple[tuple[str, int, type[BaseModel]], ...] = (
    (project.FORMAT, project.VERSION, ProjectFile),
    (topology_json.FORMAT, topology_json.VERSION, TopologyFile),
    (traffic_json.FORMAT, traffic_json.VERSION, TrafficFile),
)


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schemas by file name ("railsketch.project.v1.schema.json" …)."""
    return {
        f"{name}.v{version}.schema.json": {"$schema": "https://json-schema.org/draft/2020-12/schema"}
        | model.model_json_schema(by_alias=True)
        for name, version, model in _FILES
    }


def write_schemas(folder: Path) -> None:
    """Write the schemas of this version."""
    for name, schema in schemas().items():
        write_atomic(folder / name, json_text(schema))


if __name__ == "__main__":
    write_schemas(Path(__file__).parents[2] / "resources" / "schema")
