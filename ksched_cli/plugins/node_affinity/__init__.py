"""NodeAffinity: spec.nodeSelector, spec.affinity.nodeAffinity and the profile's addedAffinity."""
