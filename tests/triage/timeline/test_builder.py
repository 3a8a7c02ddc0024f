"""Events become a timeline: in the order of their times, and in bounded space."""

from tests.triage.test_judge import diagnosis, timeline_of


def test_files_are_ordered_by_their_times() -> None:
    shm = "[2026-01-01 10:00:05] b:1:1 [0] NCCL WARN Call to posix_fallocate failed : No space left on device\n"
    files = "[2026-01-01 10:00:01] a:1:1 [0] NCCL WARN Call to accept failed : Too many open files\n"
    assert diagnosis(shm, files).root_cause == "fd-limit"


def test_a_story_is_kept_in_bounded_space() -> None:
    log = "n1:1:1 [0] NCCL WARN Call to accept failed : Too many open files\n" * 5000
    timeline = timeline_of(log)
    assert len(timeline.of("limits.files")) <= 64
    assert timeline.lines_read == 5000


def test_the_last_step_is_kept_beside_the_first_ones() -> None:
    timeline = timeline_of("".join(f"step {number} loss 2.5\n" for number in range(1000)))
    steps = timeline.of("job.progress")
    assert (len(steps), steps[-1].line) == (65, 1000)


def test_what_lines_without_a_host_say_counts_where_no_line_has_one() -> None:
    socket = "NCCL INFO Using network Socket\nNCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n"
    assert timeline_of(socket).transports == {"NET/Socket"}
    other = timeline_of("h1:10:20 [0] NCCL INFO Using network IB\n" + socket)
    assert other.networks == {"IB"}
    assert not other.transports
