"""The user's colours: which group, stage or replica a GPU was painted with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from model.placement.types import DIMENSIONS, Dimension

Colours = Mapping[Dimension, int]


class Paint(Mapping[str, Colours]):
    """A frozen mapping from GPU id to its colours by dimension; unpainted GPUs are not in it.

    For tp, cp and ep a colour is the index of a communicator group, for pp a stage, for dp a replica.
    Editing methods give a new `Paint`; the colours of untouched GPUs are shared with the old one.
    """

    __slots__ = ("_colours",)

    def __init__(self, colours: Mapping[str, Colours] | None = None) -> None:
        self._colours: dict[str, dict[Dimension, int]] = {
            gpu: {dimension: own[dimension] for dimension in DIMENSIONS if dimension in own}
            for gpu, own in (colours or {}).items()
            if own
        }

    def __getitem__(self, gpu: str) -> Colours:
        return MappingProxyType(self._colours[gpu])

    def __iter__(self) -> Iterator[str]:
        return iter(self._colours)

    def __len__(self) -> int:
        return len(self._colours)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Paint) and self._colours == other._colours

    def __hash__(self) -> int:
        return hash(frozenset((gpu, tuple(own.items())) for gpu, own in self._colours.items()))

    def __repr__(self) -> str:
        return f"Paint({self._colours!r})"

    def __reduce__(self) -> tuple[type[Paint], tuple[dict[str, dict[Dimension, int]]]]:
        return Paint, (self._colours,)

    def group(self, gpu: str, dimension: Dimension) -> int | None:
        """The colour of a GPU in a dimension, None where it has none."""
        return self._colours.get(gpu, {}).get(dimension)

    def assign(self, dimension: Dimension, group: int, gpus: Iterable[str]) -> Paint:
        """With `gpus` painted."""
        if group < 0:
            raise ValueError(f"a colour is a number from 0 on, not {group}")
        return self._with(dimension, group, gpus)

    def erase(self, dimension: Dimension, gpus: Iterable[str]) -> Paint:
        """With the colour of one dimension taken from `gpus`."""
        return self._with(dimension, None, gpus)

    def rename(self, old: str, new: str) -> Paint:
        """With the colours of `old` given to `new`."""
        if old not in self._colours:
            return self
        return self._of({new if gpu == old else gpu: own for gpu, own in self._colours.items()})

    def without(self, gpus: Iterable[str]) -> Paint:
        """With every colour of `gpus` gone."""
        gone = set(gpus)
        if gone.isdisjoint(self._colours):
            return self
        return self._of({gpu: own for gpu, own in self._colours.items() if gpu not in gone})

    def _with(self, dimension: Dimension, group: int | None, gpus: Iterable[str]) -> Paint:
        colours = dict(self._colours)
        for gpu in gpus:
            own = dict(colours.get(gpu, {}))
            own.pop(dimension, None)
            if group is not None:
                own[dimension] = group
            if own:
                colours[gpu] = {name: own[name] for name in DIMENSIONS if name in own}
            else:
                colours.pop(gpu, None)
        return self._of(colours)

    @classmethod
    def _of(cls, colours: dict[str, dict[Dimension, int]]) -> Paint:
        made = cls.__new__(cls)
        made._colours = colours
        return made
