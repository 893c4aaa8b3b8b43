"""DynamicResources: devices for a pod's resource claims."""
