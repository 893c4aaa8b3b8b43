"""What edits share: the declaration, the parsers, and the tools that apply an edit."""
