"""One simulated cluster in motion: scheduler, control plane and clock as one state."""
