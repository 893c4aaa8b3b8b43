"""Kubernetes objects as scheduling reads them: decoding, quantities, selectors, tolerations. Pure, no I/O."""
