"""The same words for every span: for tests and measurements, never for a policy.

Guarantees: costs nothing and depends on nothing, so that what is measured is everything else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from chronicle.summarisers.protocol import Child, Draft, Span


@dataclass(frozen=True, slots=True)
class Constant:
    title: str = "Constant"
    prose: str = "The same words for every span."
    name: str = "constant"

    def section(self, span: Span) -> Draft:
        return Draft(self.title, self.prose)

    def rollup(self, children: Sequence[Child]) -> Draft:
        return Draft(self.title, self.prose)
