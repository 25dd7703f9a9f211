"""Documents from a bare drawing: with the default job, and a place for every device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from model.catalog import GpuSpec
from model.document.document import Document, Position
from model.job.default import default_job
from model.job.spec import JobSpec
from model.topology.graph import Topology
from model.topology.layout import layout_by_role
from model.topology.ports import spec_of
from model.topology.types import Container, Device, DeviceKind, Link


class Content(Protocol):
    """What a template builds: the parts of a drawing, and the centre of each device."""

    @property
    def name(self) -> str: ...
    @property
    def devices(self) -> tuple[Device, ...]: ...
    @property
    def links(self) -> tuple[Link, ...]: ...
    @property
    def containers(self) -> tuple[Container, ...]: ...
    @property
    def positions(self) -> Mapping[str, Position]: ...


def document_from(content: Content) -> Document:
    """A document around the content of a template or import; `EditRefused` where it is inconsistent."""
    topology = Topology(content.devices, content.links, content.containers)
    layout = placed(topology, content.positions)
    return Document(topology, job_for(topology), layout=layout, name=content.name)


def job_for(topology: Topology) -> JobSpec:
    """The default job on the GPUs that are not down (conventions 36), by the smallest memory among them."""
    gpus = topology.working(DeviceKind.GPU)
    models = {device.model: spec_of(device) for device in gpus}
    memory = [spec.hbm_bytes for spec in models.values() if isinstance(spec, GpuSpec)]
    return default_job(len(gpus), min(memory, default=0.0))


def has_default_job(document: Document) -> bool:
    """Whether nobody has touched the job: it is the one that its drawing would get by itself."""
    plain = JobSpec().model_copy(
        update={name: getattr(document.job, name) for name in ("model", "sequence_length", "global_batch")}
    )
    return document.job == plain and document.job == job_for(document.topology)


def placed(topology: Topology, positions: Mapping[str, Position]) -> dict[str, Position]:
    """The given positions; where there are none at all, those of the layout by role."""
    return dict(positions) if positions else layout_by_role(topology)
