"""Settings, all from the environment; `chronicle.conf` describes each one the project adds."""

import os
import sys
from pathlib import Path

from django.utils.csp import CSP

from chronicle import conf

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(os.environ.get("DATA_DIR") or BASE_DIR / "data")

DEBUG = os.environ.get("DJANGO_DEBUG", "").lower() in {"1", "true", "yes"}
TESTING = bool(os.environ.get("PYTEST_VERSION"))


def _secret_key() -> str:
    """The key from the environment, else the one that the first start made and kept in DATA_DIR."""
    return os.environ.get("SECRET_KEY") or conf.kept_secret(DATA_DIR / "secret_key")


SECRET_KEY = _secret_key()
TOKEN_KEY = os.environ.get("TOKEN_KEY", "")
ALLOWED_HOSTS = [host for host in os.environ.get("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]").split(",") if host]
CSRF_TRUSTED_ORIGINS = [origin for origin in os.environ.get("CSRF_TRUSTED_ORIGINS", "").split(",") if origin]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "django_q",
    "ninja",  # for its templates and files alone: the page of the API loads nothing from elsewhere
    "chronicle",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "chronicle.web.errors.ErrorsMiddleware",
]

ROOT_URLCONF = "anagrapheus_site.urls"
WSGI_APPLICATION = "anagrapheus_site.wsgi.application"
ASGI_APPLICATION = "anagrapheus_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

DATABASES = {"default": conf.database(os.environ.get("DATABASE_URL") or f"sqlite:///{DATA_DIR}/site.sqlite3")}
_database = DATABASES["default"]
if _database["ENGINE"] == "django.db.backends.sqlite3":
    _database["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;PRAGMA foreign_keys=ON;"
        "PRAGMA recursive_triggers=ON;",
    }
else:
    _database["CONN_HEALTH_CHECKS"] = True
    # A pool does not outlive a fork, and the task cluster forks: its workers would share one socket.
    if not TESTING and "qcluster" not in sys.argv:
        _database.setdefault("OPTIONS", {})["pool"] = {"min_size": 1, "max_size": 8, "timeout": 10}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "logs"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en"
USE_I18N = False
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = os.environ.get("STATIC_ROOT") or None  # only where another server is to serve what collectstatic gathers
WHITENOISE_USE_FINDERS = True

SECURE_CSP = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "font-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "object-src": [CSP.NONE],
}
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "chronicle.web.errors.csrf_failed"
DATA_UPLOAD_MAX_NUMBER_FILES = 2000

TASK_BROKER = os.environ.get("TASK_BROKER", "orm")
_workers = 2 if _database["ENGINE"].endswith("sqlite3") else 4
_timeout = 600
Q_CLUSTER = {
    "name": "anagrapheus",
    "workers": _workers,
    "bulk": 1,
    "queue_limit": _workers,
    "timeout": _timeout,
    "retry": _timeout * 3 + 60,
    "max_attempts": 1,
    "ack_failures": True,
    "catch_up": False,
    "recycle": 200,
    "save_limit": 500,
    "poll": 1,
    "guard_cycle": 1,
    "log_level": "WARNING",
    "time_zone": "UTC",
    **({"orm": "default"} if TASK_BROKER == "orm" else {"redis": TASK_BROKER}),
}

JOB_LEASE = float(os.environ.get("JOB_LEASE") or 60)
WORKER_SILENCE = float(os.environ.get("WORKER_SILENCE") or 180)
QUEUE_AGE = float(os.environ.get("QUEUE_AGE") or 900)

SUMMARISER = os.environ.get("SUMMARISER", "outline")
MODEL = os.environ.get("MODEL", "")
MODEL_INPUT_TOKENS = int(os.environ.get("MODEL_INPUT_TOKENS") or 24_000)
MODEL_OUTPUT_TOKENS = int(os.environ.get("MODEL_OUTPUT_TOKENS") or 1500)
MODEL_TEMPERATURE = os.environ.get("MODEL_TEMPERATURE", "")
MODEL_TIMEOUT = float(os.environ.get("MODEL_TIMEOUT") or 120)
MODEL_RETRIES = int(os.environ.get("MODEL_RETRIES") or 3)
INGEST_ROOT = Path(os.environ.get("INGEST_ROOT") or DATA_DIR / "uploads")
MAX_UPLOAD = int(os.environ.get("MAX_UPLOAD") or 512 * 1024**2)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "loggers": {
        "chronicle": {"handlers": ["stderr"], "level": os.environ.get("LOG_LEVEL", "INFO")},
        "psycopg.pool": {"handlers": ["stderr"], "level": "ERROR"},  # each try warns; the error says the same once
    },
}
