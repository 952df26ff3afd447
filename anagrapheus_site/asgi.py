"""The ASGI entry point."""

import os

from django.core.asgi import get_asgi_application

from chronicle.checks import refuse_unsafe_start

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "anagrapheus_site.settings")
application = get_asgi_application()
refuse_unsafe_start()
