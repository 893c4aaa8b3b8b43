"""Kubernetes minors: their gates, default plugins and configuration versions, and what each changed."""

# The newest minor that is modelled. It stands here so that `--help` imports nothing more.
NEWEST_VERSION = "1.36"
