"""What-if edits: one file each, with its SPEC. Everything that offers edits is derived from these files."""
