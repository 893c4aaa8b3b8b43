"""One scheduling cycle, as in schedule_one.go. Results of earlier cycles are in `engine/answers/`, not here."""
