"""Which digests are due, what stands in each, and where its parts go."""
