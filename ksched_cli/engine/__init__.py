"""How a scheduling cycle runs: profile, queue, cycle, preemption's trials. It imports no plugin."""
