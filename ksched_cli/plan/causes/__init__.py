"""Why a pod is elsewhere under another version, other gates or another configuration, on one and the same cluster."""
