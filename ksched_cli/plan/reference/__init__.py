"""What ksched has: the modelled minors, plugins, reason codes, schemas, and the effective configuration."""
