"""Read-only answers: status, explain, coverage, preview. Nothing below imports it."""
