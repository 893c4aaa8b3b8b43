"""How a scheduling cycle runs: profile, queue, cycle, preemption's trials. Knows no plugin by name."""
