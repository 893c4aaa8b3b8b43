"""What happens around the scheduler: the API server's part, the controllers, the kubelets."""
