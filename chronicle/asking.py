"""What a person asks for and pays for: a re-consolidation, a rebuild, as a job that a repeat of a click finds again.

Guarantees: one job per generation that is superseded and one per edition that is replaced, so a double click, two
clicks of two people or a repeat of the request cost one draw; the answer to a repeat says so (`replayed`), and
whether it asked with other words.
Refuses, before a job is made: what is not accepted, not here, superseded by another way, or has no such name.
"""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.utils import timezone

from chronicle import jobs, policies
from chronicle.divergence import bill_of, edition_of, named, row_for, superseding
from chronicle.errors import ChronicleFork, DivergenceNotAccepted, UnknownSection
from chronicle.jobs import Held
from chronicle.models import Edition, Job, JobState, Log, Section
from chronicle.reading import find, parse_ref
from chronicle.rebuild import check as check_rebuild
from chronicle.reconsolidate import check_reason
from chronicle.sections import current_edition

RECONSOLIDATE, REBUILD = "reconsolidate", "rebuild"


@dataclass(frozen=True, slots=True)
class Asked:
    """The job of a request. `replayed`: an earlier request made it; `payload_differs`: that one had other words."""

    job: Job
    replayed: bool = False
    payload_differs: bool = False

    @property
    def section(self) -> str:
        """The id of the new generation, once it is drawn."""
        return str((self.job.result or {}).get("section", ""))

    @property
    def supersedes(self) -> str:
        return str(self.job.args["section"])


def reconsolidation(
    log: Log, ref: str, *, accepted: bool, by: str, reason: str = "", summariser: str = "", prompt: str = ""
) -> Asked:
    """Return the job that draws the next generation of `ref` (`12-31#1` names the generation that was seen).

    Raises DivergenceNotAccepted (with the bill), UnknownSection, ChronicleFork, InvalidPolicy, InvalidSection.
    """
    check_reason(reason)
    edition = edition_of(log)
    words = {"reason": reason, "summariser": summariser, "prompt": prompt}
    try:
        section = superseding(edition, ref)
    except ChronicleFork:
        earlier = _earlier(edition, ref)
        if earlier is None or not accepted:
            raise
        return Asked(earlier, True, _differs(earlier, by, words))
    row = row_for(log, summariser=summariser, prompt=prompt)
    if not accepted:
        found = bill_of(section, row)
        raise DivergenceNotAccepted(
            f"{found.next} was not asked for: the divergence of what read {found.section} is to be accepted first.",
            bill=found.as_json(),
        )
    policies.summariser_for(row)
    return _asked(log, edition, section, by, words)


def _asked(log: Log, edition: Edition, section: Section, by: str, words: dict[str, str]) -> Asked:
    seen = named(section)
    place = {"section": seen, "edition": edition.number}
    return _once(RECONSOLIDATE, log, _key(edition, seen), place, by, words)


def _once(kind: str, log: Log, key: str, place: dict[str, Any], by: str, words: dict[str, str]) -> Asked:
    """The open job of the key, or a new one; one that waits for its next try is tried now."""
    mine = str(uuid4())
    job = jobs.enqueue(kind, log.public_id, key=key, args={**place, "asked": mine, **words}, made_by=by)
    if job.args["asked"] == mine:
        return Asked(job)
    if job.state == JobState.PARKED or (job.state == JobState.QUEUED and job.next_try > timezone.now()):
        job = jobs.retry(job.pk, by=by)  # a person asks again: it need not wait
    return Asked(job, True, _differs(job, by, words))


def rebuilding(
    log: Log, *, accepted: bool, by: str, reason: str = "", replay: str | None = None, seen: int | None = None
) -> Asked:
    """Return the job that rebuilds the log's chronicle; `seen` is the edition that was to be replaced.

    Raises GenerativeRebuild (with the bill), InvalidSection for the reason, PinMiss, InvalidPolicy, and
    ChronicleFork when another edition than `seen` is in force, unless that is what was asked for before.
    """
    check_reason(reason)
    check_rebuild(log, accepted=accepted, replay=replay)
    words, number = {"reason": reason, "replay": replay or ""}, current_edition(log).number
    if seen is not None and seen != number:
        earlier = Job.objects.filter(key=_rebuild_key(log, seen)).exclude(state=JobState.FAILED).order_by("-pk").first()
        if earlier is None:
            raise ChronicleFork(f"Edition {number} is in force by now, not {seen}.", current=str(number))
        return Asked(earlier, True, _differs(earlier, by, words))
    return _once(REBUILD, log, _rebuild_key(log, number), {"edition": number}, by, words)


def _rebuild_key(log: Log, number: int) -> str:
    return f"{REBUILD}:{log.pk}:{number}"


def drawn_by(log: Log, held: Held) -> Section | None:
    """Return what an earlier attempt of this job has written before its worker died, or None."""
    level, from_seq, to_seq, generation = parse_ref(str(held.args["section"]))
    found = Section.objects.filter(
        anchor__edition__log=log,
        anchor__edition__number=held.args["edition"],
        anchor__level=level,
        anchor__from_seq=from_seq,
        anchor__to_seq=to_seq,
        generation=(generation or 1) + 1,
        made_by=held.made_by,
    )
    return found.select_related("anchor").first()


def _earlier(edition: Edition, ref: str) -> Job | None:
    """Return the job that superseded this generation, or is just about to say that it did."""
    try:
        seen = named(find(edition, ref))
    except UnknownSection:
        return None
    return Job.objects.filter(key=_key(edition, seen)).exclude(state=JobState.FAILED).order_by("-pk").first()


def _key(edition: Edition, seen: str) -> str:
    return f"{RECONSOLIDATE}:{edition.log_id}:{edition.number}/{seen}"


def _differs(job: Job, by: str, words: dict[str, Any]) -> bool:
    return job.made_by != by or any(job.args.get(name) != value for name, value in words.items())
