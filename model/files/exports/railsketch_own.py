"""Our own JSON formats: project, topology export and traffic export."""

from __future__ import annotations

from model.errors import InputError
from model.files.exporting import Exported, ExportFormat, ExportSource
from model.files.project import project_json
from model.files.topology_json import topology_to_json
from model.files.traffic_json import traffic_to_json
from model.files.writing import json_text


def _project(source: ExportSource) -> Exported:
    return Exported({"": json_text(project_json(source.document))})


def _topology(source: ExportSource) -> Exported:
    return Exported({"": json_text(topology_to_json(source.document))}, ("The job and the colours.",))


def _traffic(source: ExportSource) -> Exported:
    if source.analysis.report is None:
        wrong = "; ".join(
            finding.title for finding in source.analysis.findings if finding.severity == "error"
        )
        raise InputError(f"There is no step to export: {wrong or 'the drawing has no GPU that works'}.")
    return Exported({"": json_text(traffic_to_json(source.analysis))}, ("The drawing: positions and names.",))


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
