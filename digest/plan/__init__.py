"""Which digests are due, what is in each, and where its parts go."""
