"""Which saved query matched which change, and what a first digest holds."""
