"""Names the kinds of jobs that only faults need, as an application names its own."""

from django.apps import AppConfig


class FaultsConfig(AppConfig):
    name = "tests.faults"

    def ready(self) -> None:
        from chronicle import jobs
        from tests.faults import kinds

        jobs.HANDLERS.update(die=kinds.die, note=kinds.note)
