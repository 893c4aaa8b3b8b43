"""ksched: what would kube-scheduler do?"""

__version__ = "0.1.0"
