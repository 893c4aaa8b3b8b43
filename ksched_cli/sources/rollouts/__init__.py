"""From what runs to what the manifests ask for, as each controller goes about it. One kind, one file."""
