"""The scheduling queue (backend/queue), on a virtual clock."""
