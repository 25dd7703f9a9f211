"""The report of a drawing, its job and its step: Markdown with pictures beside it, and PDF to print."""

from __future__ import annotations

from model.errors import InputError
from model.files.exporting import Exported, ExportFormat, ExportOption, ExportSource
from model.files.exports.drawing import hosts_of
from model.files.exports.report_text import report_markdown
from model.topology.types import ContainerKind, DeviceKind

_PICTURES = ExportOption("pictures", "Pictures of the drawing", "yes", (("yes", "With"), ("no", "Without")))
_PAPER = ExportOption("paper", "Paper", "a4", (("a4", "A4"), ("letter", "US Letter")))
_LACKS = "Single exchanges over time, and all links but the dearest; the traffic export has them."


def _write_markdown(source: ExportSource) -> Exported:
    text, pictures = _report(source)
    return Exported({"report.md": text, **pictures}, _notes(source))


def _write_pdf(source: ExportSource) -> Exported:
    painter = source.painter
    text, pictures = _report(source)
    source.progress(0.9, "laying out pages")
    return Exported({"": painter.pages(text, pictures, source.options)}, _notes(source))


def _report(source: ExportSource) -> tuple[str, dict[str, bytes]]:
    """The text, and the pictures that it names."""
    document, analysis = source.document, source.analysis
    pictures: dict[str, bytes] = {}
    captions: dict[str, str] = {}
    if source.chosen(_PICTURES) == "yes" and document.topology.devices():
        for place, (name, caption, selection) in enumerate(_views(source)):
            source.progress(0.5 + 0.2 * place, "painting")
            options = {"theme": "light", "scale": "2", "selection": selection}
            pictures[name] = source.painter.picture(document, analysis, "png", options)
            captions[name] = caption
    source.progress(0.85, "writing the report")
    return report_markdown(document, analysis, captions), pictures


def _views(source: ExportSource) -> list[tuple[str, str, str]]:
    """Name, caption and selection of each picture: all, and the first host where there are several."""
    views = [("drawing.png", "The drawing; links show the peak load of the step", "")]
    topology = source.document.topology
    hosts = [host for host in hosts_of(topology) if host.of_kind(DeviceKind.GPU)]
    first = hosts[0].id if hosts else ""
    boxed = topology.has_container(first) and topology.container(first).kind is ContainerKind.TRAY
    if len(hosts) > 1 and boxed and "," not in first:
        views.append(("host.png", f"One host: {first}", first))
    return views


def _notes(source: ExportSource) -> tuple[str, ...]:
    if source.analysis.report is not None:
        return ()
    if not source.document.topology.devices():
        raise InputError("The drawing is empty; there is nothing to report on.")
    return ("Left out: placement, step, links and memory, as no step could be worked out; see its findings.",)


FORMATS = (
    ExportFormat(
        id="report-markdown",
        name="Report (Markdown with pictures)",
        suffix=".md",
        write=_write_markdown,
        use="Wikis, repositories and reviews.",
        lacks=_LACKS,
        folder=True,
        options=(_PICTURES,),
    ),
    ExportFormat(
        id="report-pdf",
        name="Report (PDF)",
        suffix=".pdf",
        write=_write_pdf,
        use="Print, and those who have no Railsketch.",
        lacks=_LACKS,
        options=(_PICTURES, _PAPER),
    ),
)
