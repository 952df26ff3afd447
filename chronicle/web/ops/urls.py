"""The addresses for those who run the site."""

from django.urls import URLPattern, URLResolver, path

from chronicle.web.ops import health, ingest, jobs

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz/", health.web, name="healthz"),
    path("healthz/worker", health.worker, name="healthz-worker"),
    path("jobs/", jobs.jobs, name="jobs"),
    path("jobs/<seq:job_id>/retry/", jobs.retry, name="job-retry"),
    path("jobs/units/<seq:failure_id>/retry/", jobs.retry_unit, name="unit-retry"),
    path("ingest/", ingest.ingest, name="ingest"),
    path("ingest/<seq:job_id>/", ingest.ingest_job, name="ingest-job"),
    path("ingest/<seq:job_id>/accept/", ingest.accept, name="upload-accept"),
    path("ingest/<seq:job_id>/discard/", ingest.discard, name="upload-discard"),
]
