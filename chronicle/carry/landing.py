"""One log of a proven carry, compared with what is here; with `write`, landed beside it.

Guarantees: comparing and writing take the same decisions, by the same code; what is here is never changed but for
what moves forward (the log's end, stamps, states of editions); what is here with other words stays and is counted.
Refuses (CarryRefused, naming the line): another owner's log, a log or an edition that went another way, policies
under which what lands would have closed otherwise.
"""

from datetime import datetime
from typing import Any

from chronicle import policies
from chronicle.carry import shapes
from chronicle.carry.file import refuse
from chronicle.carry.landing_citing import CitingLanding
from chronicle.carry.landing_edition import EditionLanding, Known
from chronicle.carry.landing_events import EventsLanding
from chronicle.carry.rows import policy_row, prompt_row
from chronicle.carry.tally import Tally
from chronicle.carry.values import moment
from chronicle.errors import LogExists
from chronicle.log import locked, restore_log
from chronicle.models import Edition, EditionState, Log, Policy, Prompt

STATES = (EditionState.BUILDING, EditionState.CURRENT, EditionState.ARCHIVED)  # in the order that an edition takes


class LogLanding:
    """One log. With `write`, call it inside the transaction that is to hold it whole."""

    def __init__(self, line: int, row: shapes.Log, *, write: bool) -> None:
        self.row, self.tally, self._write = row, Tally(), write
        self.log = self._find(line)
        if write and self.log is None:
            self.log = self._make(line)
        elif write and self.log is not None:
            self.log = locked(self.log.pk)
        self._events = EventsLanding(self.log, self.tally, write=write)
        self._policies = {one.from_seq: one for one in Policy.objects.filter(log=self.log)} if self.log else {}
        self._new_policies: list[tuple[int, int]] = []
        self._named_policies: set[int] = set()
        self._stored = {one.number: one for one in Edition.objects.filter(log=self.log)} if self.log else {}
        self._states = {number: STATES.index(EditionState(one.state)) for number, one in self._stored.items()}
        self._editions: dict[int, EditionLanding] = {}
        self._edition: EditionLanding | None = None
        self._rows: dict[int, Edition | None] = dict(self._stored)
        self._citing = CitingLanding(self.log, self._rows, self._known, self.tally, write=write)

    def _find(self, line: int) -> Log | None:
        row = self.row
        found = Log.objects.filter(public_id=row.id).first()
        if found is None:
            session = Log.objects.filter(owner=row.owner, source=row.source, source_session=row.source_session)
            if row.source_session and (other := session.first()) is not None:
                refuse(line, f"log {row.id}: log {other.public_id} here is of the same ingested session")
            return None
        if found.owner != row.owner:
            refuse(line, f"log {row.id} is another owner's here")
        same = (found.source, found.source_session, moment(found.started_at))
        if same != (row.source, row.source_session, row.started_at):
            refuse(line, f"log {row.id} is another log here: source, session or start differ")
        return found

    def _make(self, line: int) -> Log:
        row = self.row
        self.tally.land("log")
        try:
            return restore_log(
                row.id,
                row.owner,
                title=row.title,
                source=row.source,
                source_session=row.source_session,
                started_at=datetime.fromisoformat(row.started_at),
                last_activity_at=datetime.fromisoformat(row.last_activity_at),
            )
        except LogExists as error:
            refuse(line, f"log {row.id} was made meanwhile; load the file again ({error})")

    def take(self, line: int, row: Any) -> None:
        """Compare, and write, the next row."""
        match row:
            case shapes.Event():
                self._events.event(line, row)
            case shapes.Pin():
                self._events.pin(row)
            case shapes.Source():
                self._events.source(row)
            case shapes.Attachment():
                self._events.flush()
                self._events.attachment(row)
            case shapes.Policy():
                self._policy(line, row)
            case shapes.Prompt():
                self._prompt(row)
            case shapes.Edition():
                self._end_edition(line)
                self._edition = self._editions[row.number] = self._begin_edition(line, row)
            case shapes.Anchor() if self._edition is not None:
                self._edition.anchor(line, row)
            case shapes.Section() if self._edition is not None:
                self._end_anchors(line, self._edition)
                self._edition.section(line, row)
            case shapes.Receipt():
                self._end_edition(line)
                self._citing.receipt(line, row)
            case shapes.Finding() | shapes.SignOff():
                self._end_edition(line)
                self._citing.flush()
                self._citing.said(line, row)

    def end(self, line: int) -> None:
        """Compare, and write, what waits."""
        self._events.flush()
        self._end_edition(line)
        self._citing.flush()
        self._settle_states(line)
        if "log" not in self.tally.landed and self.log is not None:
            self.tally.meet("log")

    def _policy(self, line: int, row: shapes.Policy) -> None:
        self._named_policies.add(row.from_seq)
        here = self._policies.get(row.from_seq)
        if here is None:
            self.tally.land("policy")
            self._new_policies.append((line, row.from_seq))
            if self._write:
                values = {name: getattr(row, name) for name in (*policies.VALUES, "from_seq", "made_by")}
                Policy.objects.create(log=self.log, made_at=datetime.fromisoformat(row.made_at), **values)
        elif all(getattr(policy_row(here), name) == getattr(row, name) for name in policies.VALUES):
            self.tally.meet("policy")
        else:
            refuse(line, f"the policy from {row.from_seq} on says something else here")

    def _prompt(self, row: shapes.Prompt) -> None:
        here = Prompt.objects.filter(name=row.name, version=row.version).first()
        if here is None:
            self.tally.land("prompt")
            if self._write:
                names = ("name", "version", "section", "rollup", "section_digest", "rollup_digest", "made_by")
                values = {name: getattr(row, name) for name in names}
                Prompt.objects.create(made_at=datetime.fromisoformat(row.made_at), **values)
        elif (here.section, here.rollup) == (row.section, row.rollup):
            self.tally.meet("prompt")
        else:
            self.tally.differ("prompt", prompt_row(here).name + f"/{row.version}")

    def _begin_edition(self, line: int, row: shapes.Edition) -> EditionLanding:
        self._events.flush()
        here = self._stored.get(row.number)
        if here is None:
            later = [number for number in self._stored if number > row.number]
            if later:
                refuse(line, f"edition {row.number} is not here, and edition {later[0]} is: another history")
            self.tally.land("edition")
            self._states[row.number] = STATES.index(EditionState(row.state))
            here = self._rows[row.number] = self._make_edition(row) if self._write else None
        else:
            self._compare_edition(line, row, here)
        return EditionLanding(here, row, self.tally, write=self._write)

    def _compare_edition(self, line: int, row: shapes.Edition, here: Edition) -> None:
        # The first edition makes itself wherever a log is first looked at; a later one is somebody's act.
        said = (here.made_by, here.reason, moment(here.made_at))
        if row.number > 1 and said != (row.made_by, row.reason, row.made_at):
            refuse(line, f"edition {row.number} is another rebuild here, made {moment(here.made_at)}: a fork")
        self.tally.meet("edition")
        self._states[row.number] = max(self._states[row.number], STATES.index(EditionState(row.state)))

    def _make_edition(self, row: shapes.Edition) -> Edition:
        """Write an edition, still building where it will be in force: the one before it has to go first."""
        assert self.log is not None  # noqa: S101 - written, so it is there
        archived = EditionState(row.state) == EditionState.ARCHIVED
        return Edition.objects.create(
            log=self.log,
            number=row.number,
            state=EditionState.ARCHIVED if archived else EditionState.BUILDING,
            made_by=row.made_by,
            reason=row.reason,
            made_at=datetime.fromisoformat(row.made_at),
        )

    def _end_anchors(self, line: int, edition: EditionLanding) -> None:
        if edition.anchored:
            return
        edition.end_anchors()
        if edition.landing_upto:
            unknown = [seq for seq in self._policies if seq not in self._named_policies and seq <= edition.landing_upto]
            if unknown:
                refuse(line, f"a policy from {min(unknown)} on is here and not in the file: this closes otherwise")
        for policy_line, seq in self._new_policies:
            if edition.file_upto < seq <= edition.here_upto:
                refuse(policy_line, f"the policy from {seq} on is not here, where sections go to {edition.here_upto}")

    def _end_edition(self, line: int) -> None:
        if self._edition is not None:
            self._end_anchors(line, self._edition)
            self._edition.flush()
            self._edition = None

    def _settle_states(self, line: int) -> None:
        """Move editions forward to the state they reached on either side; at most one may be in force."""
        current = [number for number, state in self._states.items() if STATES[state] == EditionState.CURRENT]
        if len(current) > 1:
            refuse(line, f"log {self.row.id}: editions {min(current)} and {max(current)} would both be in force")
        if not self._write:
            return
        for state in (EditionState.ARCHIVED, EditionState.CURRENT):
            for number, reached in self._states.items():
                edition = self._rows[number]
                if edition is not None and STATES[reached] == state and edition.state != state:
                    edition.state = state
                    edition.save(update_fields=["state"])

    def _known(self, cited: shapes.Cited) -> Known:
        key = (cited.level, cited.from_seq, cited.to_seq, cited.generation)
        return self._editions[cited.edition].known[key]
