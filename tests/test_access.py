"""Who sees which logs."""

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User

from chronicle.access import events_for, log_for, visible_logs
from chronicle.errors import LogNotFound
from chronicle.models import Event, Grant
from tests.builders import log_of, said

pytestmark = pytest.mark.django_db


@pytest.mark.promise("K5", "C20", "C21")
def test_a_reviewer_sees_the_owners_granted_to_them_or_their_group_and_nobody_else() -> None:
    mine, ours, theirs = (log_of(1, owner=owner) for owner in ("alice", "team", "mallory"))
    reviewer, stranger = User.objects.create_user("wijaya"), User.objects.create_user("charlie")
    group = Group.objects.create(name="audit")
    reviewer.groups.add(group)
    Grant.objects.create(user=reviewer, owner="alice")
    Grant.objects.create(group=group, owner="team")
    assert set(visible_logs(reviewer)) == {mine, ours}
    assert log_for(reviewer, ours.public_id) == ours
    for user, log_id in [(reviewer, theirs.public_id), (stranger, mine.public_id), (reviewer, "unknown")]:
        with pytest.raises(LogNotFound) as caught:
            log_for(user, log_id)
        assert str(caught.value) == "There is no log with this id."
    assert not visible_logs(AnonymousUser()).exists()


def test_a_superuser_sees_all_and_an_inactive_user_nothing() -> None:
    log = log_of(1)
    admin = User.objects.create_superuser("admin")
    assert list(visible_logs(admin)) == [log]
    admin.is_active = False
    assert not visible_logs(admin).exists()


def test_a_reviewer_granted_twice_sees_a_log_once(django_assert_num_queries: object) -> None:
    log_of(1, owner="alice")
    reviewer = User.objects.create_user("wijaya")
    group = Group.objects.create(name="audit")
    reviewer.groups.add(group)
    Grant.objects.create(user=reviewer, owner="alice")
    Grant.objects.create(group=group, owner="alice")
    assert visible_logs(reviewer).count() == 1


@pytest.mark.promise("K26")
@pytest.mark.parametrize(
    "reader",
    [",", '"', "a", "A", "a,", ",b", 'a","b', "[", "]", '["a"', "", " ", "\\", "é", "\u2028", "x" * 300, "%", "_"],
)
def test_a_reader_is_a_whole_name_of_an_audience_and_never_a_piece_of_two(reader: str) -> None:
    audiences = [("a", "b"), ("a,", "b"), ("a,", ",b"), ('"', ","), ("é", "\\"), ('a","b',), ("A",), ()]
    log = log_of([said(f"{number}", audience=audience) for number, audience in enumerate(audiences)])
    seen = events_for(Event.objects.filter(log=log), reader).order_by("seq")
    expected = [number + 1 for number, audience in enumerate(audiences) if not audience or reader in audience]
    assert list(seen.values_list("seq", flat=True)) == expected
    assert seen.count() == len(expected)
