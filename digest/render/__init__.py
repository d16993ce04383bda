"""Rendering: a digest becomes a message for one medium, a feed becomes a document.

Everything here is a function of its arguments and of the templates: no clock, no environment, no
random source, so the same digest gives the same bytes on every machine and every attempt.

It raises TemplateError if a template is missing, can't be read, uses what its context lacks, or makes more than
its medium takes; and ConfigurationError if an address can't be written into a mail's header.
"""

from digest.render.contexts import AlarmContext, AlarmView, ErrorContext, UnsubscribeContext
from digest.render.mail import MailIdentity
from digest.render.renderer import Envelope, Renderer

__all__ = [
    "AlarmContext",
    "AlarmView",
    "Envelope",
    "ErrorContext",
    "MailIdentity",
    "Renderer",
    "UnsubscribeContext",
]
