"""Published schedules and figures, compared value by value."""
