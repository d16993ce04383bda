"""Destinations: one module for each transport.

Each turns a message into a receipt or a `DeliveryError`.

A transport never decides what happens next. It says on which side of the point of no return a
failure lies (`ambiguous`), whether repeating can help (`permanent`, `retry_after`), and how far it
reaches (`whole_transport`); the step does everything else.
"""
