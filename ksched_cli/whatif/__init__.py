"""What-if edits, manifests and scenario files: each yields changes for a control plane."""
