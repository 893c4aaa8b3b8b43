"""How scores are normalized (helper.DefaultNormalizeScore). The range of a score is that of the minor,
`Release.max_node_score`."""

from __future__ import annotations

import numpy as np

from ksched_cli.cluster.columns import Int64Column, truncated_divide

MAX_NODE_SCORE = 100
MIN_NODE_SCORE = 0


def default_normalize_score(scores: Int64Column, max_priority: int = MAX_NODE_SCORE, *, reverse: bool) -> Int64Column:
    """helper.DefaultNormalizeScore: the highest score becomes `max_priority`, the others in proportion."""
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full_like(scores, max_priority) if reverse else scores.copy()
    scaled = max_priority * scores
    scaled = scaled // highest if scores.min() >= 0 else truncated_divide(scaled, highest)
    return max_priority - scaled if reverse else scaled
