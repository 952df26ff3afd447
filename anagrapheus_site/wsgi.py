"""The WSGI entry point."""

import os

from django.core.wsgi import get_wsgi_application

from chronicle.checks import refuse_unsafe_start

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "anagrapheus_site.settings")
application = get_wsgi_application()
refuse_unsafe_start()
