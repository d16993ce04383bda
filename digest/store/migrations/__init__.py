"""How the schema came to be: one numbered file a step, never changed once released."""
