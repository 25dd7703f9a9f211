"""`railsketch check`: findings, one a line."""

from __future__ import annotations

import argparse
import json

from model.analysis import analyse
from model.cli.summary import exit_code
from model.cli.tools import Outcome, Tools
from model.files.exports.wording import finding_line
from model.files.opening import open_any
from model.files.traffic_json import finding_to_json


def check(arguments: argparse.Namespace, tools: Tools) -> Outcome:
    """The findings of a file. An illegal job is one of them."""
    document = open_any(arguments.file)
    findings = analyse(document).findings
    if arguments.json:
        values = [finding_to_json(finding) for finding in findings]
        text = json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False)
    else:
        text = "\n".join(map(finding_line, findings)) or "No findings."
    return Outcome(text, exit_code(findings))
