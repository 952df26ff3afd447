"""The site's own settings, with a cluster that looks more often and the jobs and words that faults need."""

from anagrapheus_site.settings import *  # noqa: F403
from anagrapheus_site.settings import DATABASES as SITE_DATABASES
from anagrapheus_site.settings import INSTALLED_APPS as SITE_APPS
from anagrapheus_site.settings import Q_CLUSTER as SITE_CLUSTER

INSTALLED_APPS = [*SITE_APPS, "tests.faults"]
Q_CLUSTER = {**SITE_CLUSTER, "poll": 0.1, "guard_cycle": 0.2, "log_level": "INFO"}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
SITE_DATABASES["default"].get("OPTIONS", {}).pop("pool", None)  # the driver forks, too
