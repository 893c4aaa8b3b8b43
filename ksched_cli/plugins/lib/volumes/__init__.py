"""Facts about claims and volumes, and CSI migration."""
