"""Kubernetes minors: their gates, default plugins and configuration versions, and what each changed."""
