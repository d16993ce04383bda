"""The nouns: papers, announcements, subscriptions, messages, errors, the clock. Times are UTC."""
