"""The nouns: papers, announcements, subscriptions, messages, errors, the clock. Every moment is in UTC."""
