"""How a scheduling cycle runs: profile, queue, cycle, preemption's trials. It names no plugin."""
