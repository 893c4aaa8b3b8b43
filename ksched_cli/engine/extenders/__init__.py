"""Extenders: services that kube-scheduler calls over HTTP about nodes (pkg/scheduler/extender.go); never to bind."""
