"""Where a View goes: terminal, Markdown, page. A sink knows no result."""
