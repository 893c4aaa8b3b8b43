"""TaintToleration: taints that the pod does not tolerate."""
