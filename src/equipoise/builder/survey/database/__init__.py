"""SQL: who is asked what, and what they answered; comes in by method calls, goes out as records."""
