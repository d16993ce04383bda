"""Sending messages once: the intent, the send, the answer, and what follows a failure."""
