"""The state of an installation without a server: encrypted, on a branch of its git repository."""
