"""What-if edits, each declared in the SPECS of its module. Everything that offers edits is derived from them."""
