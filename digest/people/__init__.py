"""What a reader may do: sign up, change what they get, unsubscribe, and be forgotten."""
