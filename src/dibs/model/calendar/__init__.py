"""When things are due: rules of the calendar, in all time zones. Moments are epoch seconds."""

from dibs.model.calendar.cron import Cron
from dibs.model.calendar.interval import Every
from dibs.model.calendar.jitter import due_at
from dibs.model.calendar.rule import Rule
from dibs.model.calendar.text import cron, every, rule_of

__all__ = ["Cron", "Every", "Rule", "cron", "due_at", "every", "rule_of"]
