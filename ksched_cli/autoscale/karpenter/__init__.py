"""Karpenter's provisioner, file by file as in sigs.k8s.io/karpenter/pkg of Karpenter 1.13: objects in, decision out.

`controller.py` puts the decided nodes into a world."""
