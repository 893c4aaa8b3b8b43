"""Kubernetes minors: their gates, default plugins and configuration versions, and what each changed."""

# The newest minor that is modelled, and the minor that answers if the input names none: the newest of which there are
# recordings. They stand here so that `--help` imports nothing more.
NEWEST_VERSION = "1.37"
DEFAULT_VERSION = "1.36"
