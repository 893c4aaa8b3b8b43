"""What only Kubernetes before 1.23 has: removed plugins, and the predicates and priorities of 1.16. The registry
(`plugins/in_tree.py`) imports this folder when such a minor is asked for. Old configuration is in `config/legacy/`."""
