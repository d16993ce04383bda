"""Renders a digest as a message for one medium, and a feed as a document.

The arguments and the templates decide everything: no clock, no environment, no random source. So
the same digest gives the same bytes on every machine and every attempt.

It raises TemplateError if a template is missing, can't be read, uses what its context lacks, or
makes more than its medium takes; and ConfigurationError if an address can't be written into a
mail's header.
"""
