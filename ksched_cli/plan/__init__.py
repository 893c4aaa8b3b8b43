"""The use cases: plain functions from a scheduler to frozen results."""
