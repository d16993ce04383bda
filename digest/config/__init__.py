"""The one room that reads the environment and `digest.toml`, and checks both before all else runs.

settings        what can be configured, each declared once; `declarations` say how
document        which file, and from file and environment to one checked `Config`
draft           single settings of a file being read, and what has to be mended in it
contradictions  what settings must not say together
values, addresses   readers of single values
display         what counts now
starter, providers  a new file; mail providers it knows
edits, replacement  changes of a file by command; putting the new one in its place
"""

from digest.config.display import show_settings
from digest.config.document import (
    find_config,
    find_state_folder,
    load_config,
    open_config,
    open_config_or_defaults,
    read_environment,
)
from digest.config.settings import Config

__all__ = [
    "Config",
    "find_config",
    "find_state_folder",
    "load_config",
    "open_config",
    "open_config_or_defaults",
    "read_environment",
    "show_settings",
]
