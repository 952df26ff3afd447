"""The Django admin: everything to look at, nothing canonical to change.

Guarantees: what is a record can be looked at only, by its forms, its actions and by forged requests;
grants can be managed, policies added, jobs retried; a member of staff who is no superuser sees of a
log's records those that the one door to logs would show. Tables of the task cluster are not here:
they are a way to run code.
"""

from django.contrib import admin

from chronicle.admin import logs, redrawing, review, running, sections

__all__ = ["logs", "redrawing", "review", "running", "sections"]

admin.site.site_header = "Anagrapheus, admin"
admin.site.site_title = "Anagrapheus admin"
admin.site.index_title = "Records are looked at here; they are not changed"

for model in [model for model in admin.site._registry if model._meta.app_label == "django_q"]:
    admin.site.unregister(model)
