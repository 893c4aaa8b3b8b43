"""One simulated cluster: scheduler, control plane and clock as one state."""
