"""What the API server's admission does to a pod before the scheduler sees it. Related ones share a file."""
