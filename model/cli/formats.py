"""`railsketch formats`: what can be imported and exported."""

from __future__ import annotations

import argparse
import json
from typing import Any

from model.cli.tools import Outcome, Tools
from model.files.exporting import ExportFormat
from model.files.importing import ImportFormat
from model.files.registry import export_formats, import_formats


def formats(arguments: argparse.Namespace, tools: Tools) -> Outcome:
    """Every format with its directions, how to get it, what it carries and lacks."""
    found = format_list()
    if arguments.json:
        return Outcome(json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False))
    lines = []
    for each in found:
        one, other = each["import"], each["export"]
        direction = "in, out" if one and other else "in" if one else "out"
        suffix = ", ".join(one["suffixes"] if one else [other["suffix"]])
        lines.append(f"{each['id']:<22} {direction:<8} {each['name']}{f' ({suffix})' if suffix else ''}")
        if one:
            lines += [f"    from     {one['how']}", f"    has      {one['carries']}"]
            lines.append(f"    has not  {one['lacks']}")
        if other:
            lines += [f"    for      {other['use']}", f"    leaves   {other['lacks']}"]
            lines += [f"    --option {_option_line(option)}" for option in other["options"]]
    return Outcome("\n".join(lines))


def format_list() -> list[dict[str, Any]]:
    """All formats by name: id, name, and what is known of each direction (None where there is none)."""
    ways_in, ways_out = import_formats(), export_formats()
    ids = sorted(
        {*ways_in, *ways_out}, key=lambda ident: (ways_in.get(ident) or ways_out[ident]).name.lower()
    )
    return [
        {
            "id": ident,
            "name": (ways_in.get(ident) or ways_out[ident]).name,
            "import": _import(ways_in[ident]) if ident in ways_in else None,
            "export": _export(ways_out[ident]) if ident in ways_out else None,
        }
        for ident in ids
    ]


def _import(one: ImportFormat) -> dict[str, Any]:
    return {
        "suffixes": list(one.suffixes),
        "how": one.how,
        "carries": one.carries,
        "lacks": one.lacks,
        "several": one.several,
    }


def _export(one: ExportFormat) -> dict[str, Any]:
    return {
        "suffix": one.suffix,
        "use": one.use,
        "lacks": one.lacks,
        "folder": one.folder,
        "options": [
            {
                "key": option.key,
                "text": option.text,
                "default": option.default,
                "choices": [value for value, _ in option.choices],
            }
            for option in one.options
        ],
    }


def _option_line(option: dict[str, Any]) -> str:
    choices = f"{' | '.join(option['choices'])}; " if option["choices"] else ""
    return f"{option['key']}={option['default']}  ({choices}{option['text']})"
