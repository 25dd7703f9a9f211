"""Node descriptions of InfiniBand as rdma-core and NVIDIA's switches write them."""

from __future__ import annotations

import pytest

from model.files.imports.infiniband_names import adapter_name, is_aggregation, lane_rate, switch_name


@pytest.mark.parametrize(
    ("description", "host", "adapter"),
    [
        ("node5 mlx5_0", "node5", "mlx5_0"),
        ("node5 HCA-1", "node5", "mlx5_0"),
        ("node5 HCA-5", "node5", "mlx5_4"),
        ("my node mlx5_bond_0", "my node", "mlx5_bond_0"),
        ("node5", "node5", ""),
        ("node5 rack 7", "node5 rack 7", ""),
        ("MT4129 ConnectX7 Mellanox Technologies", "", ""),
        ("MT23108 InfiniHost Mellanox Technologies", "", ""),
        ("", "", ""),
    ],
)
def test_adapters(description: str, host: str, adapter: str) -> None:
    name = adapter_name(description)
    assert (name.host, name.adapter) == (host, adapter)


@pytest.mark.parametrize(
    ("description", "name", "part", "model"),
    [
        ("MF0;leaf01:MQM9700/U1", "leaf01", "U1", "qm9700"),
        ("MF0;core:CS8500/L01/U1", "core", "L01/U1", ""),
        ("MF0;x:Q3400-RA/U3", "x", "U3", "q3400"),
        ("Quantum Mellanox Technologies", "", "", ""),
        ("ISR9024 Voltaire", "ISR9024 Voltaire", "", ""),
    ],
)
def test_switches(description: str, name: str, part: str, model: str) -> None:
    found = switch_name(description)
    assert (found.name, found.part, found.model) == (name, part, model)


def test_rates_and_aggregation() -> None:
    assert lane_rate("4", "NDR") == 50e9
    assert lane_rate("1", "SDR") == 2.5e9 / 8
    assert is_aggregation("Mellanox Technologies Aggregation Node")
    assert not is_aggregation("node1 mlx5_0")
