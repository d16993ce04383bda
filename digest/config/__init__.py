"""The one room that reads the environment and `digest.toml`, and checks both before anything else runs.

settings        what can be configured, as values
table           every setting once: key, reader, default, sentence
reading         file and environment to one checked `Config`; lines, document, environment, progress,
                subscribing, webhooks, checks and problems are its parts
values, addresses   readers of single values
showing, starter    what counts now; a new file. writing is their part
zones           the zone in which moments are told to the operator
finding         which file, and the edge to the process
"""

from digest.config.finding import (
    find_config,
    find_state_folder,
    open_config,
    open_config_or_defaults,
    read_environment,
)
from digest.config.reading import load_config
from digest.config.settings import (
    ArxivSettings,
    Config,
    DefaultSettings,
    MailSettings,
    SlackSettings,
    StoreSettings,
    WebSettings,
)
from digest.config.showing import Row, as_json, settings_table_markdown, show
from digest.config.starter import starter_text
from digest.config.table import SETTINGS, Setting

__all__ = [
    "SETTINGS",
    "ArxivSettings",
    "Config",
    "DefaultSettings",
    "MailSettings",
    "Row",
    "Setting",
    "SlackSettings",
    "StoreSettings",
    "WebSettings",
    "as_json",
    "find_config",
    "find_state_folder",
    "load_config",
    "open_config",
    "open_config_or_defaults",
    "read_environment",
    "settings_table_markdown",
    "show",
    "starter_text",
]
