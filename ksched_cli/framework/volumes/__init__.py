"""What the volume plugins share: a pod's claims, the volumes that fit them, and what a volume is called by CSI."""
