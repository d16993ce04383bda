"""The reverse index: all saved queries held against a batch of papers at once."""
