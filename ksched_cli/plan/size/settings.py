"""How far each search of `size` goes. A test or a caller of `Simulator.size` may set the numbers; `ksched size` has the
time limit only."""

from __future__ import annotations

from msgspec import Struct


class SearchSettings(Struct, frozen=True, kw_only=True):
    """The defaults are those that the benchmark instances need (`python -m tests.benchmarks.sizing`)."""

    # Sets of the program that the scheduler tries.
    proposed_sets: int = 40
    # The share of the time limit, and the least seconds, after which the program ends without a better set.
    patience: float = 0.2
    least_patience: float = 1.0
    # The search of the parts ends after the first share of the time limit, and has the second share at least.
    parts_until: float = 0.65
    parts_share: float = 0.1
    # The scheduler tries so many of the sets that the search of a part finds, the cheapest first.
    tried_of_a_part: int = 3
    # All sets of a part are listed up to this number; beyond, nodes of the best set are exchanged at random.
    listed_sets: int = 30_000
    # So many nodes at most are taken out, and so many put in; fewer if there are more combinations than this.
    exchanged_nodes: int = 3
    combinations: int = 20_000
    # Random exchanges in a row that find nothing new, after which there is nothing new to find.
    vain_exchanges: int = 2000
    # Purchases of one shape are a start if there are no more choices than this.
    one_shape_choices: int = 40
    # How often a forecast is mended before the scheduler tries the set.
    mended_forecasts: int = 20
    # The scheduler tries so many single nodes where the forecast has to choose, and a set in so many orders of zones.
    helping_nodes: int = 4
    zone_spreads: int = 4
    # Every maximal pattern of a shape is listed up to this number, for the whole problem and for a part.
    listed_patterns: int = 400
    listed_patterns_of_a_part: int = 3000
    # Seconds that the solver may take for the whole numbers of a part.
    whole_seconds: float = 4.0
