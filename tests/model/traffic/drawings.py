"""All small clusters of the traffic tests, by name."""

from __future__ import annotations

from collections.abc import Callable

from model.topology.graph import Topology
from tests.model.traffic.drawings_broken import (
    dead_uplink,
    degraded,
    lost_nvlink,
    missing_nic,
    nic_down,
    two_pieces,
    unequal_uplinks,
)
from tests.model.traffic.drawings_hosts import (
    few_nics,
    mixed_domains,
    nvlink_pairs,
    rack_scale,
    shared_nics,
    switch_trunks,
)
from tests.model.traffic.drawings_networks import (
    dual_port,
    rail_optimised,
    storage_network,
    two_networks,
    two_planes,
)

DRAWINGS: dict[str, Callable[[], Topology]] = {
    make.__name__: make
    for make in (
        rail_optimised,
        missing_nic,
        dead_uplink,
        unequal_uplinks,
        two_pieces,
        degraded,
        dual_port,
        lost_nvlink,
        nvlink_pairs,
        rack_scale,
        few_nics,
        nic_down,
        mixed_domains,
        switch_trunks,
        storage_network,
        shared_nics,
        two_networks,
        two_planes,
    )
}
