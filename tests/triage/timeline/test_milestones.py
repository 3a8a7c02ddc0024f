"""Who alone had not got to where the others waited."""

import pytest

from tests.triage.test_judge import diagnosis, timeline_of

WAITED = "(no further output for 40 minutes)\n"


def there(what: str, *ranks: int) -> str:
    return "".join(f"[rank{rank}]: {what}\n" for rank in ranks)


@pytest.mark.parametrize(
    ("log", "late"),
    [
        (there("step 4 done", 0, 1, 2, 3) + there("step 5: entering psum", 0, 1, 3) + WAITED, "2"),
        (there("step 4 done", 0, 1, 2, 3) + there("step 5 done", 3, 2, 1) + WAITED + there("step 5 done", 0), "0"),
        (there("loader ready", 0, 1, 3) + WAITED, "2"),
        (there("step 4 done", 0, 1, 2, 3) + there("step 5 done", 0, 1) + WAITED, None),
        (there("step 4 done", 0, 1, 2, 3) + there("step 5 done", 0, 1, 2, 3) + WAITED, None),
        (there("step 4 done", 0, 1, 2, 3) + there("step 5: entering psum", 0, 1, 3), None),
        (there("step 4 done", 0) + there("step 5 done", 0) + WAITED, None),
        (there("loader ready", 1, 2, 3, 5, 7) + WAITED, None),
    ],
)
def test_one_is_late_where_all_others_reached_the_place(log: str, late: str | None) -> None:
    odd = timeline_of(log).odd
    assert (odd.name if odd else None) == late


def test_of_lines_that_were_not_all_read_nobody_is_late() -> None:
    many = "".join(there(f"step {step} done", 0, 1, 2, 3) for step in range(600))
    assert timeline_of(many + there("step 600 done", 0, 1, 3) + WAITED).odd is None


def test_who_is_late_is_the_suspect() -> None:
    found = diagnosis(there("step 4 done", 0, 1, 2, 3) + there("step 5: entering psum", 0, 1, 3) + WAITED)
    assert (found.root_cause, found.offender and found.offender.name) == ("straggler-timeout", "2")
