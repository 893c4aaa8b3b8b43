"""Plugins, predicates and priorities that kube-scheduler had up to 1.22; imported only for those minors."""
