"""DefaultPreemption: which pods of lower priority would make room for a pod."""
