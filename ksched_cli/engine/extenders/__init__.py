"""Extenders: services that kube-scheduler asks over HTTP about nodes (pkg/scheduler/extender.go); never to bind."""
