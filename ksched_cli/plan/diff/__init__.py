"""What differs between two clusters, configurations or versions."""
