"""The rules by which the API server accepts an object, on documents as they are written, in the API server's words."""
