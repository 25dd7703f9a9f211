"""Which boxes are hosts and which switches, and the tier of each switch: by what the file says, by the names
of boxes and ports, and by what hangs on what. Whatever the file did not say is said to the user.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Mapping, Sequence

from model.files.importing import Question
from model.files.imports.cabling import SWITCHES, Box, Cabling, Role
from model.text import name_list, plural

MOST_HOST_CABLES = 8  # a box with more cables and nothing else known of it is taken for a switch
_LONG = 100  # characters of a name that are looked at
_FEW = 8  # a switch with so many times fewer hosts than another is none that hosts belong to

_SWITCH_PORT = re.compile(
    r"swp\d.*|ethernet-?\d.*|eth\d+/.*|e\d+-\d.*|(?:et|xe|ge|te)-\d.*|\w*gig\w*\d.*|p\d+|\d+", re.IGNORECASE
)
_HOST_PORT = re.compile(
    r"eth\d+|en[opsx]\w+|mlx\d+_\w+|ib\w*\d\w*|bond\w*|net\d+|roce\w*|rdma\d+|hsn\d+|nic\d+|hca\w*",
    re.IGNORECASE,
)
_TIER_NAMES = (
    (re.compile(r"(?<![a-z])(?:super-?spine|core)(?![a-z])", re.IGNORECASE), Role.CORE),
    (re.compile(r"(?<![a-z])(?:spine|agg)(?![a-z])", re.IGNORECASE), Role.SPINE),
    (re.compile(r"(?<![a-z])(?:leaf|tor)(?![a-z])", re.IGNORECASE), Role.LEAF),
)
_SWITCH_NAME = re.compile(
    r"(?<![a-z])(?:sw|switch|router|border|exit|rtr|oob|mgmt-?sw)(?![a-z])", re.IGNORECASE
)
_HOST_NAME = re.compile(
    r"(?<![a-z])(?:server|srv|host|gpu|node|client|dgx|hgx|compute|worker|login|ws)(?![a-z])", re.IGNORECASE
)
_WORDS = {
    "host": Role.HOST,
    "server": Role.HOST,
    "compute": Role.HOST,
    "gpu": Role.HOST,
    "client": Role.HOST,
    "node": Role.HOST,
    "worker": Role.HOST,
    "leaf": Role.LEAF,
    "tor": Role.LEAF,
    "access": Role.LEAF,
    "spine": Role.SPINE,
    "aggregation": Role.SPINE,
    "agg": Role.SPINE,
    "core": Role.CORE,
    "superspine": Role.CORE,
    "switch": Role.SWITCH,
    "router": Role.SWITCH,
    "fabric": Role.SWITCH,
    "storage": Role.STORAGE,
    "exit": Role.SWITCH,
    "border": Role.SWITCH,
}


def role_of_word(text: str) -> Role:
    """The role that a word for it means: "Leaf switch" is a leaf, "gpu-server" a host."""
    words = re.findall(
        r"[a-z]+", text.lower().replace("super-spine", "superspine").replace("super spine", "superspine")
    )
    found = [_WORDS[word] for word in words if word in _WORDS]
    tiers = [role for role in found if role in (Role.LEAF, Role.SPINE, Role.CORE)]
    return (tiers or found or [Role.UNKNOWN])[0]


def settle_roles(cabling: Cabling) -> None:
    """Give every box a role that is neither unknown nor a switch of some tier, and say how it was found."""
    unknown = [box for box in cabling.boxes.values() if box.role is Role.UNKNOWN]
    if unknown:
        _by_ports(cabling, unknown)
        _by_names(cabling, [box for box in unknown if box.role is Role.UNKNOWN])
        _by_structure(cabling, [box for box in unknown if box.role is Role.UNKNOWN])
    _settle_tiers(cabling)


def _say(cabling: Cabling, boxes: Sequence[Box], how: str) -> None:
    for hosts, what in ((True, "host"), (False, "switch")):
        some = [box for box in boxes if box.role is not Role.UNKNOWN and (box.role is Role.HOST) is hosts]
        if some:
            names = name_list([box.name for box in some])
            count = plural(len(some), what, "switches" if what == "switch" else None)
            cabling.reading.inferred(f"{count} told {how}: {names}.", *_lines(some))


def _lines(boxes: Sequence[Box]) -> list[int]:
    return [box.line for box in boxes if box.line]


def _by_ports(cabling: Cabling, boxes: Sequence[Box]) -> None:
    votes: dict[str, Counter[Role]] = {box.name: Counter() for box in boxes}
    for cable in cabling.cables:
        for end in cable.ends():
            if end.port and end.box in votes:
                if _HOST_PORT.fullmatch(end.port[:_LONG]):
                    votes[end.box][Role.HOST] += 1
                elif _SWITCH_PORT.fullmatch(end.port[:_LONG]):
                    votes[end.box][Role.SWITCH] += 1
    for box in boxes:
        hosts, switches = votes[box.name][Role.HOST], votes[box.name][Role.SWITCH]
        if hosts != switches and not _name_role(box.name):
            box.role = Role.HOST if hosts > switches else Role.SWITCH
    _say(cabling, boxes, "by the names of their ports")


def _by_names(cabling: Cabling, boxes: Sequence[Box]) -> None:
    for box in boxes:
        box.role = _name_role(box.name) or Role.UNKNOWN
    _say(cabling, boxes, "by their names")


def _name_role(name: str) -> Role | None:
    if _name_tier(name) or _SWITCH_NAME.search(name[:_LONG]):
        return Role.SWITCH
    return Role.HOST if _HOST_NAME.search(name[:_LONG]) else None


def _name_tier(name: str) -> Role | None:
    return next((role for form, role in _TIER_NAMES if form.search(name[:_LONG])), None)


def _by_structure(cabling: Cabling, boxes: Sequence[Box]) -> None:
    if not boxes:
        return
    choices = (
        ("structure", "hosts with few cables, switches with many"),
        ("host", "all of them hosts"),
        ("switch", "all of them switches"),
    )
    names = name_list([box.name for box in boxes])
    why = f"Neither the file nor a name says it: {names}."
    answer = cabling.reading.ask(
        Question(
            "unknown_boxes", "What are the boxes of which nothing is known?", "structure", choices, why=why
        )
    )
    near = cabling.neighbours()
    for box in boxes:
        many = near[box.name].total() > MOST_HOST_CABLES or any(
            cabling.boxes[other].role is Role.HOST for other in near[box.name]
        )
        box.role = Role(answer) if answer != "structure" else Role.SWITCH if many else Role.HOST
    cabling.reading.guessed(
        f"{plural(len(boxes), 'box', 'boxes')} taken for what the number of cables suggests: {names}."
        if answer == "structure"
        else f"{plural(len(boxes), 'box', 'boxes')} taken for what was answered: {names}.",
        *_lines(boxes),
    )


def _settle_tiers(cabling: Cabling) -> None:
    loose = [box for box in cabling.boxes.values() if box.role is Role.SWITCH]
    named = []
    for box in loose:
        tier = _name_tier(box.name)
        if tier is not None:
            box.role = tier
            named.append(box)
    if named:
        cabling.reading.inferred(f"Tiers told by names: {name_list([box.name for box in named])}.")
    rest = [box for box in loose if box.role is Role.SWITCH]
    if rest:
        _by_distance(cabling, rest)


def _by_distance(cabling: Cabling, boxes: Sequence[Box]) -> None:
    """Leaves are what hosts hang on, spines what leaves hang on, cores whatever is farther."""
    near = cabling.neighbours()
    hosts = {
        box.name: sum(n for other, n in near[box.name].items() if cabling.boxes[other].role is Role.HOST)
        for box in cabling.with_role(*SWITCHES)
    }
    leaves = [box for box in boxes if hosts[box.name] and not _is_above(cabling, box.name, near, hosts)]
    above = (
        [box for box in boxes if hosts[box.name] and box not in leaves] if len(leaves) < len(boxes) else []
    )
    for box in leaves:
        box.role = Role.LEAF
    distance = _distances(cabling, near)
    for box in boxes:
        if box.role is Role.SWITCH and box.name in distance:
            box.role = Role.SPINE if distance[box.name] <= 1 else Role.CORE
    lost = [box for box in boxes if box.role is Role.SWITCH]
    for box in lost:
        box.role = Role.LEAF
    told = len(boxes) - len(lost)
    if told:
        cabling.reading.inferred(
            f"The tier of {_switches(told)} told by what hangs on them: hosts on leaves, leaves on spines."
        )
    if above:
        names = name_list([box.name for box in above])
        cabling.reading.inferred(
            f"Few hosts hang on {names}, and switches with many; no leaf for that.", *_lines(above)
        )
    if lost:
        names = name_list([box.name for box in lost])
        cabling.reading.guessed(
            f"{_switches(len(lost))} without a way to a host taken for a leaf each: {names}.", *_lines(lost)
        )


def _switches(count: int) -> str:
    return plural(count, "switch", "switches")


def _is_above(
    cabling: Cabling, name: str, near: Mapping[str, Counter[str]], hosts: Mapping[str, int]
) -> bool:
    """Whether a switch with few hosts joins switches with many: a spine that monitoring hangs on."""
    others = [hosts[other] for other in near[name] if cabling.boxes[other].role in SWITCHES]
    return sum(1 for count in others if count >= _FEW * hosts[name]) >= 2


def _distances(cabling: Cabling, near: Mapping[str, Counter[str]]) -> dict[str, int]:
    """Cables from each switch to the nearest leaf."""
    found = {box.name: 0 for box in cabling.with_role(Role.LEAF)}
    queue = deque(found)
    while queue:
        name = queue.popleft()
        for other in near[name]:
            if other not in found and cabling.boxes[other].role in SWITCHES:
                found[other] = found[name] + 1
                queue.append(other)
    return found
