"""Which products are drawn where a file names none: asked for, with what fits as the default."""

from __future__ import annotations

from collections.abc import Collection

from model.catalog import GpuSpec, NicSpec, catalog
from model.files.importing import Question, Reading
from model.files.imports.building import ask_gpu, ask_nic, ask_number
from model.files.imports.known_parts import switch_by_speed
from model.topology.types import DeviceKind, LinkKind

BYTES_PER_GBIT = 1e9 / 8
_ROUNDING = 1 + 1e-9
_NETWORKS = (("ethernet", "Ethernet"), ("infiniband", "InfiniBand"))


class Models:
    """Asks for models and speeds as they are needed; each question comes once."""

    def __init__(self, reading: Reading, gpu: str = "", network: str = "ethernet") -> None:
        """`gpu` and `network`: the defaults, the catalogue's first GPU where empty."""
        self._reading = reading
        self._gpu = gpu or catalog().default_model(DeviceKind.GPU)
        self._network = network
        self._asked_network: LinkKind | None = None

    def gpu(self) -> GpuSpec:
        """What GPUs without a model are."""
        return ask_gpu(self._reading, self._gpu, "Compute, memory and what its links carry follow from it.")

    def network(self) -> LinkKind:
        """The kind of network links."""
        if self._asked_network is None:
            why = "Switches and network cards follow from it."
            question = Question("network", "Which network is it?", self._network, _NETWORKS, why=why)
            self._asked_network = LinkKind(self._reading.ask(question))
        return self._asked_network

    def network_bytes_per_s(self) -> float:
        """The speed of a network link that has none in the file."""
        gbit = ask_number(
            self._reading,
            "network_gbit_per_s",
            "How fast is a network link that has no speed in the file?",
            400.0,
            "Gb/s",
            "Times of exchanges follow from it.",
        )
        return gbit * BYTES_PER_GBIT

    def switch(self, tier: str, bytes_per_s: float, ports: int) -> str:
        """The catalogue id of the switches of a tier; `bytes_per_s` is their fastest link."""
        fitting = self._fitting_switch(bytes_per_s, ports)
        choices = tuple((ident, spec.name) for ident, spec in catalog().switches.items())
        why = "Ports, latency and reduction in the network follow from it; the speeds of links do not."
        question = Question(f"{tier}_model", f"Which switch is a {tier}?", fitting, choices, why=why)
        return self._reading.ask(question)

    def nic(self, bytes_per_s: float, ports: int) -> NicSpec:
        """The NICs with so many network links, the fastest of `bytes_per_s`."""
        default = self._fitting_nic(bytes_per_s, ports)
        return ask_nic(
            self._reading, default, "Its PCIe link follows from it; its speed on the network does not."
        )

    def nvlink_switch(self, gpus: Collection[str]) -> str:
        """The switch chip for GPUs of these models, the catalogue's first where there is none."""
        known = (catalog().gpus.get(model) for model in gpus)
        generations = {spec.nvlink_generation for spec in known if spec is not None}
        return next(
            (
                ident
                for ident, chip in catalog().nvlink_switches.items()
                if chip.nvlink_generation in generations
            ),
            catalog().default_model(DeviceKind.NVLINK_SWITCH),
        )

    def _fitting_switch(self, bytes_per_s: float, ports: int) -> str:
        """The first of the catalogue that is fast and large enough: it has the usual ones before routers."""
        network = self.network().value
        for spec in catalog().switches.values():
            enough = ports * bytes_per_s <= spec.ports * spec.port_bytes_per_s * _ROUNDING
            if spec.network == network and enough and spec.port_bytes_per_s * _ROUNDING >= bytes_per_s:
                return spec.id
        return switch_by_speed(bytes_per_s, network, ports)

    def _fitting_nic(self, bytes_per_s: float, ports: int) -> str:
        network = self.network().value
        specs = [spec for spec in catalog().nics.values() if network in spec.networks]
        fast = [spec for spec in specs if spec.port_bytes_per_s * _ROUNDING >= bytes_per_s]
        wide = [spec for spec in fast if spec.ports >= ports]
        if wide:
            return wide[0].id
        return max(fast or specs, key=lambda spec: (spec.ports if fast else 0, spec.port_bytes_per_s)).id
