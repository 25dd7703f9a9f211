"""Our own JSON formats: project, topology export and traffic export."""

from __future__ import annotations

from model.files.exporting import Exported, ExportFormat, ExportSource
from model.files.exports.step_tables import report_of
from model.files.project import project_json
from model.files.topology_json import topology_to_json
from model.files.traffic_json import traffic_to_json
from model.files.writing import json_text


def _project(source: ExportSource) -> Exported:
    return Exported({"": json_text(project_json(source.document))})


def _topology(source: ExportSource) -> Exported:
    return Exported(
        {"": json_text(topology_to_json(source.document))}, ("Left out: the job and the colours.",)
    )


def _traffic(source: ExportSource) -> Exported:
    report_of(source)  # refuses where there is none
    return Exported(
        {"": json_text(traffic_to_json(source.analysis))}, ("Left out: positions and labels of the drawing.",)
    )


FORMATS = (
    ExportFormat(
        "railsketch-project",
        "Railsketch project",
        ".json",
        _project,
        use="The whole document, to open again.",
        lacks="Nothing.",
    ),
    ExportFormat(
        "railsketch-topology",
        "Railsketch topology",
        ".json",
        _topology,
        use="The drawing as node-link JSON that networkx reads.",
        lacks="The job and the colours.",
    ),
    ExportFormat(
        "railsketch-traffic",
        "Railsketch traffic",
        ".json",
        _traffic,
        use="What the step puts on every link, with groups, timeline, memory and findings.",
        lacks="Positions, and how devices are connected inside of bundles.",
    ),
)
