"""`railsketch templates`, `models` and `devices`: what there is."""

from __future__ import annotations

import argparse
import json
from typing import Any

from model.catalog import catalog
from model.catalog.specs import Spec
from model.cli.tools import Outcome, Template, Tools
from model.text import three_digits
from model.topology.types import DeviceKind


def templates(arguments: argparse.Namespace, tools: Tools) -> Outcome:
    """Templates with their parameters, defaults and limits."""
    found = [_template(template) for template in tools.templates.values()]
    if arguments.json:
        return Outcome(_json(found))
    lines = []
    for template in found:
        lines.append(f"{template['id']}  {template['name']}: {template['summary']}")
        lines += [f"  --set {_parameter_line(parameter)}" for parameter in template["parameters"]]
    return Outcome("\n".join(lines))


def _template(template: Template) -> dict[str, Any]:
    schema = template.parameters.model_json_schema()
    parameters = []
    for name, own in schema.get("properties", {}).items():
        if "$ref" in own:
            own = schema["$defs"][own["$ref"].rsplit("/", 1)[-1]] | own
        limits = {
            label: own[key]
            for label, key in (("minimum", "minimum"), ("maximum", "maximum"), ("choices", "enum"))
            if key in own
        }
        parameters.append(
            {
                "name": name,
                "type": own.get("type", "any"),
                "default": own.get("default"),
                **limits,
                "description": own.get("description", ""),
            }
        )
    return {
        "id": template.id,
        "name": template.name,
        "summary": template.summary,
        "parameters": parameters,
    }


def _parameter_line(parameter: dict[str, Any]) -> str:
    words = []
    if "choices" in parameter:
        words.append(" | ".join(map(str, parameter["choices"])))
    elif "minimum" in parameter or "maximum" in parameter:
        words.append(f"{parameter.get('minimum', '…')} to {parameter.get('maximum', '…')}")
    if parameter["description"]:
        words.append(parameter["description"])
    default = parameter["default"]
    shown = default if isinstance(default, str) else json.dumps(default)
    return f"{parameter['name']}={shown}" + (f"  ({'; '.join(words)})" if words else "")


def models(arguments: argparse.Namespace, tools: Tools) -> Outcome:
    """Model presets with their shape and number of parameters."""
    presets = catalog().models.values()
    if arguments.json:
        hidden = {"provenance", "params_total_recomputed_exact", "params_active_recomputed_exact"}
        hidden |= {"params_active_without_input_embedding_exact"}
        return Outcome(
            _json(
                [
                    preset.model_dump(mode="json", exclude=hidden)
                    | {"parameters": preset.params_total_recomputed_exact, "sources": _sources(preset)}
                    for preset in presets
                ]
            )
        )
    lines = []
    for preset in presets:
        experts = f", {preset.moe.experts} experts top-{preset.moe.top_k}" if preset.moe else ""
        lines.append(
            f"{preset.id:<18} {three_digits(preset.params_total_recomputed_exact / 1e9):>6}B  "
            f"{preset.layers} layers, hidden {preset.hidden:,}, {preset.heads} heads, "
            f"vocabulary {preset.vocab:,}{experts}"
        )
    return Outcome("\n".join(lines))


def devices(arguments: argparse.Namespace, tools: Tools) -> Outcome:
    """Devices of the catalogue by kind; the first of a kind is its default."""
    found = [
        {"kind": kind.value, "default": place == 0}
        | spec.model_dump(mode="json", exclude={"provenance", "kind"})
        | {"sources": _sources(spec)}
        for kind in DeviceKind
        for place, spec in enumerate(catalog().of_kind(kind.value).values())
    ]
    if arguments.json:
        return Outcome(_json(found))
    return Outcome("\n".join(f"{each['kind']:<14} {each['id']:<16} {each['name']}" for each in found))


def _sources(spec: Spec) -> dict[str, str]:
    """Where each field was read; "*" stands for those that are not named."""
    return {field: catalog().source_text(spec, field) for field in spec.provenance}


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
