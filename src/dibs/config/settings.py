"""All that can be set: by which names, and how it is read. docs/configuration.md shows the same as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from dibs.config import values
from dibs.model.labels import labels_of
from dibs.model.request import LONGEST_TTL, SHORTEST_TTL

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.config import Mode
    from dibs.model.policy import OnOutageOfJob

T_co = TypeVar("T_co", covariant=True)

SHORTEST_PATIENCE = 0.1
LONGEST_PATIENCE = 3600.0
LONGEST_WAIT = 365 * 86400.0

SERVER = "redisson.config.singleServerConfig"


@dataclass(frozen=True, slots=True)
class Setting(Generic[T_co]):
    """Something that can be set, and the names it has in the environment and in a file; the first one wins."""

    name: str
    read: Callable[[object], T_co]
    variables: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    is_secret: bool = False
    is_verbatim: bool = False
    """Whether the blanks around it are a part of it."""


_TTL = values.duration(SHORTEST_TTL, LONGEST_TTL)
_PATIENCE = values.duration(SHORTEST_PATIENCE, LONGEST_PATIENCE)
_TIMEOUT = values.duration(SHORTEST_PATIENCE, LONGEST_PATIENCE, unit="ms")
_ON_OUTAGE: Callable[[object], OnOutageOfJob] = values.word("closed", "skip", "open", "local")
_MODE: Callable[[object], Mode] = values.word("normal", "shadow")

URL = Setting("url", values.url, ("DIBS_URL", "REDIS_URL"), ("url",), is_secret=True)
NAMESPACE = Setting("namespace", values.namespace, ("DIBS_NAMESPACE",), ("namespace",))
TTL = Setting("ttl", _TTL, ("DIBS_TTL",), ("ttl",))
PATIENCE = Setting("patience", _PATIENCE, ("DIBS_PATIENCE",), ("patience",))
RETRY_INTERVAL = Setting(
    "retry_interval", values.duration(0.0, LONGEST_PATIENCE, unit="ms"), (), (f"{SERVER}.retryInterval",)
)
MIN_REPLICAS = Setting("min_replicas", values.count, ("DIBS_MIN_REPLICAS",), ("min_replicas",))
ON_OUTAGE = Setting("on_outage", _ON_OUTAGE, ("DIBS_ON_OUTAGE",), ("on_outage",))
LOCAL_URL = Setting("local_url", values.url, ("DIBS_LOCAL_URL",), ("local_url",), is_secret=True)
ENABLED = Setting("enabled", values.yes_or_no, ("DIBS_ENABLED",), ("enabled",))
MODE = Setting("mode", _MODE, ("DIBS_MODE",), ("mode",))
REQUIRE_SHARED = Setting("require_shared", values.yes_or_no, ("DIBS_REQUIRE_SHARED",), ("require_shared",))
LABELS = Setting("labels", labels_of, ("DIBS_LABELS",), ("labels",))
VERSION = Setting("version", values.version, ("DIBS_VERSION",), ("version",))
ALERT_AFTER_REFUSALS = Setting(
    "alert_after_refusals", values.count, ("DIBS_ALERT_AFTER_REFUSALS",), ("alert_after_refusals",)
)

WORKFLOW_ENABLED = Setting("workflow_enabled", values.yes_or_no, ("WORKFLOW_LOCK_ENABLED",), ("workflow.lock.enabled",))
WORKFLOW_TTL = Setting("workflow_ttl", _TTL, ("WORKFLOW_LOCK_TIMEOUT",), ("workflow.lock.timeout",))
WORKFLOW_WAIT = Setting(
    "workflow_wait", values.duration(0.0, LONGEST_WAIT), ("WORKFLOW_LOCK_WAIT_TIME",), ("workflow.lock.wait-time",)
)

# What makes up a URL, or a patience, where these are not said themselves.
REDIS_ENABLED = Setting("redis.enabled", values.yes_or_no, ("REDIS_ENABLED",), ("redis.enabled",))
REDISSON_ENABLED = Setting("redisson.enabled", values.yes_or_no, ("REDISSON_ENABLED",), ("redisson.enabled",))
ADDRESS = Setting("address", values.url, (), (f"{SERVER}.address",), is_secret=True)
HOST = Setting("redis.host", values.host, ("REDIS_HOST",), ("redis.host",))
PORT = Setting("redis.port", values.port, ("REDIS_PORT",), ("redis.port",))
USERNAME = Setting("redis.username", values.text, ("REDIS_USERNAME",), (f"{SERVER}.username", "redis.username"))
PASSWORD = Setting(
    "redis.password",
    values.text,
    ("REDIS_PASSWORD",),
    (f"{SERVER}.password", "redis.password"),
    is_secret=True,
    is_verbatim=True,
)
DATABASE = Setting("redis.database", values.database, ("REDIS_DB",), (f"{SERVER}.database", "redis.database"))
TIMEOUT = Setting("redis.timeout", _TIMEOUT, ("REDIS_TIMEOUT",), ("redis.timeout",))
REDISSON_TIMEOUT = Setting("timeout", _TIMEOUT, (), (f"{SERVER}.timeout",))
RETRY_ATTEMPTS = Setting("retryAttempts", values.count, (), (f"{SERVER}.retryAttempts",))

OWN: tuple[Setting[object], ...] = (
    URL,
    NAMESPACE,
    TTL,
    PATIENCE,
    RETRY_INTERVAL,
    MIN_REPLICAS,
    ON_OUTAGE,
    LOCAL_URL,
    ENABLED,
    MODE,
    REQUIRE_SHARED,
    LABELS,
    VERSION,
    ALERT_AFTER_REFUSALS,
    WORKFLOW_ENABLED,
    WORKFLOW_TTL,
    WORKFLOW_WAIT,
)
"""One for each attribute of a `Config`."""

PARTS: tuple[Setting[object], ...] = (
    REDIS_ENABLED,
    REDISSON_ENABLED,
    ADDRESS,
    HOST,
    PORT,
    USERNAME,
    PASSWORD,
    DATABASE,
    TIMEOUT,
    REDISSON_TIMEOUT,
    RETRY_ATTEMPTS,
)

ALL = (*OWN, *PARTS)
