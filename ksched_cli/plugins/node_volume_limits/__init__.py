"""NodeVolumeLimits: how many CSI volumes may be attached to a node."""
