"""Why a pod is rejected or has moved, for people: codes, causes, typing errors, and the fixes that would help."""
