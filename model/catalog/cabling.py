"""What the catalogue says of racks and of the cables between them: editable defaults of this program."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from model.catalog.specs import BYTES_PER_S_PER_GBIT, Mounted


class _Defaults(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RackSpec(_Defaults):
    """Racks and the floor that they stand on. Heights in U of `u_m` metres, the first the default.

    `power_shelf` is a shelf of power supplies, which draws what it loses.
    """

    provenance: Mapping[str, str]
    note: str
    heights_u: tuple[float, ...]
    u_m: float
    rack_width_m: float
    row_pitch_m: float
    racks_per_row: int = Field(ge=1)
    power_shelf: Mounted

    @property
    def height_u(self) -> float:
        """The height of a rack that has none of its own."""
        return self.heights_u[0]


class CableReach(_Defaults):
    """How long a cable can be for lanes up to a speed; None: any speed, any length."""

    up_to_gbit_per_s: float | None
    m: float | None


class CableClass(_Defaults):
    """A kind of cable; `reach` by ascending speed."""

    id: str
    name: str
    reach: tuple[CableReach, ...]

    def reaches(self, length_m: float, lane_bytes_per_s: float) -> bool:
        """Whether a lane of this speed (bytes/s, one direction) goes this far over it."""
        gbit_per_s = lane_bytes_per_s / BYTES_PER_S_PER_GBIT
        for entry in self.reach:
            if entry.up_to_gbit_per_s is None or gbit_per_s <= entry.up_to_gbit_per_s * (1 + 1e-9):
                return entry.m is None or length_m <= entry.m * (1 + 1e-9)
        return False


class CableSpec(_Defaults):
    """Classes of cable, the shortest first, and the way that cables go."""

    provenance: Mapping[str, str]
    note: str
    ns_per_m: float
    tray_above_rack_m: float
    slack_in_rack_m: float
    slack_between_racks_m: float
    classes: tuple[CableClass, ...]

    @property
    def seconds_per_metre(self) -> float:
        """What a metre of cable takes."""
        return self.ns_per_m * 1e-9
