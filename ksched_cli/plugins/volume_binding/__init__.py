"""VolumeBinding: bound, matching and provisionable volumes for a pod's claims."""
