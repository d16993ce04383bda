"""What `digest serve` does all day: a handful of static jobs that call the pipeline, and their signs of life.

APScheduler says only when; what is due is decided by the store and the installation's clock, so a job
that runs late, twice or not at all changes nothing. On SQLite the jobs that work on the database take
turns; those that wait for mail servers and Slack run beside them. On PostgreSQL all run side by side, as
those of other replicas do.
"""

from digest.scheduling.board import Board
from digest.scheduling.pulse import LONGEST_SILENCE, STORE_DOUBT, Pulse
from digest.scheduling.schedule import EVERY, Job, Schedule
from digest.scheduling.steps import LONGEST_DELIVERY, Steps

__all__ = [
    "EVERY",
    "LONGEST_DELIVERY",
    "LONGEST_SILENCE",
    "STORE_DOUBT",
    "Board",
    "Job",
    "Pulse",
    "Schedule",
    "Steps",
]
