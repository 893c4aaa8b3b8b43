"""The use cases: from an input and its scheduler to frozen results. A file or folder per command."""
