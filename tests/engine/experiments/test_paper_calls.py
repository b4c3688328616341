"""Which calls made the runs of a paper's page."""

from __future__ import annotations

from acvb_core.engine.experiments.paper_calls import PaperCall, count_runs, write_origin

FIRST = PaperCall("acvb a", "2 cores", "Monday")
AGAIN = PaperCall("acvb a", "2 cores", "Tuesday")
OTHER = PaperCall("acvb b", "2 cores", "Tuesday")


def test_a_page_of_one_call_names_its_command() -> None:
    text = write_origin(count_runs([(FIRST, 1.0), (FIRST, 2.4)]))
    assert text == "Made by `acvb a` on 2 cores: 2 runs in 3 s of processor time."


def test_a_page_of_several_calls_names_each_command_with_its_runs() -> None:
    made = count_runs([(FIRST, 1.0), (None, 5.0), (AGAIN, 2.0), (OTHER, 3.0), (AGAIN, 4.0)])
    assert [(one.command, one.calls, one.runs, one.seconds) for one in made] == [
        ("acvb a", 2, 3, 7.0), ("", 1, 1, 5.0), ("acvb b", 1, 1, 3.0),
    ]  # fmt: skip
    assert write_origin(made).splitlines() == [
        "Put together from 5 runs that several calls made and kept, in 15 s of processor time together.",
        "",
        "<details><summary>These calls</summary>",
        "",
        "- 2 calls of `acvb a` on 2 cores: 3 runs in 7 s",
        "- a command that was not kept: 1 run in 5 s",
        "- 1 call of `acvb b` on 2 cores: 1 run in 3 s",
        "",
        "</details>",
    ]


def test_the_same_command_called_twice_is_not_one_call() -> None:
    assert "2 calls of `acvb a`" in write_origin(count_runs([(FIRST, 1.0), (AGAIN, 1.0)]))


def test_a_page_without_runs_says_so() -> None:
    assert write_origin([]) == "No run was made."
