"""`NCCL_IB_HCA` of each host: the NICs that the traffic of the job uses, none for storage or management."""

from __future__ import annotations

from model.errors import InputError
from model.files.exporting import Exported, ExportFormat, ExportSource
from model.files.exports.drawing import hosts_of, watched
from model.files.exports.nccl_names import NAMES_OPTION, net_devices
from model.files.exports.safe_names import HOST_NAMES, renamed, safe_names
from model.text import plural
from model.topology.types import DeviceKind


def _write(source: ExportSource) -> Exported:
    """One line a host. By convention 2, NICs without a rail do not count where others have one."""
    topology = source.document.topology
    hosts = [host for host in hosts_of(topology) if host.of_kind(DeviceKind.NIC)]
    if not hosts:
        raise InputError("The drawing has no host with a NIC.")
    names = safe_names((host.id for host in hosts), HOST_NAMES)
    lines = ["# export NCCL_IB_HCA of each host; '=' asks for exactly these devices"]
    without: list[str] = []
    others = 0
    for host in watched(source, hosts, "writing hosts"):
        cabled = [net for net in net_devices(source, topology, host) if net.cabled]
        railed = [net for net in cabled if net.nic.rail is not None]
        chosen = railed or cabled
        others += len(host.of_kind(DeviceKind.NIC)) - len({net.nic.id for net in chosen})
        if chosen:
            lines.append(f"{names[host.id]}: NCCL_IB_HCA==" + ",".join(net.name for net in chosen))
        else:
            without.append(host.id)
    if len(lines) == 1:
        raise InputError("No NIC of the drawing has a cable to a device that works.")
    left_out = []
    if without:
        left_out.append(
            f"Left out: {plural(len(without), 'host')} without a NIC in use ({without[0]} is the first)."
        )
    if others:
        left_out.append(f"Left out: {plural(others, 'NIC')} not used by the job.")
    return Exported({"": "\n".join(lines) + "\n"}, (*left_out, *renamed(names, HOST_NAMES)))


FORMATS = (
    ExportFormat(
        id="nccl-ib-hca",
        name="NCCL_IB_HCA of each host",
        suffix=".txt",
        write=_write,
        use="For the environment of each host, so that NCCL leaves storage and management NICs alone.",
        lacks="The names that the system gave the devices: they are counted in the order of the drawing.",
        options=(NAMES_OPTION,),
    ),
)
