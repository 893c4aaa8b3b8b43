"""One scheduling cycle, as in schedule_one.go: nothing in here remembers anything from one cycle to the next."""
