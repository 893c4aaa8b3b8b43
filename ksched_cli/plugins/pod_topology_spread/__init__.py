"""PodTopologySpread: the spread constraints of a pod."""
